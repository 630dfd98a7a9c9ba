"""The query string of the compare page. Invalid values are ignored."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum

from django import forms
from django.utils.translation import gettext as _
from typing_extensions import override

from dashboard.core.query_form import QueryFilter, QueryForm, text_field
from dashboard.core.time_range import TimeRange
from probes.outcomes import Metric

# Keeps the query string short. The chart draws fewer lines anyway.
MAX_ENDPOINTS = 50


class Tab(StrEnum):
    """What the columns of the table show."""

    METRICS = "metrics"
    CAPABILITIES = "capabilities"

    @property
    def label(self) -> str:
        return _("Metrics") if self is Tab.METRICS else _("Capabilities")


class Span(StrEnum):
    """The period that a cell of the heat map covers."""

    LAST = "last"
    DAY = "24h"
    WEEK = "7d"
    MONTH = "30d"

    @property
    def length(self) -> timedelta | None:
        days = {Span.DAY: 1, Span.WEEK: 7, Span.MONTH: 30}
        return timedelta(days=days[self]) if self in days else None

    @property
    def label(self) -> str:
        return _("last run") if self is Span.LAST else self.value

    @property
    def description(self) -> str:
        if self is Span.LAST:
            return _("Rates of the last run, from the probe lane.")
        return _("Rates over {span}, from the probe lane.").format(span=self.value)


@dataclass(frozen=True, slots=True)
class CompareFilter(QueryFilter):
    """What the page compares. An empty field does not filter."""

    tab: Tab = Tab.METRICS
    span: Span = Span.WEEK
    metric: Metric = Metric.PARSE_SUCCESS
    range: TimeRange = TimeRange.WEEK
    model: str = ""
    q: str = ""
    endpoint: tuple[str, ...] = ()
    page: str = ""

    @property
    def is_filtered(self) -> bool:
        return bool(self.model or self.q)


class SlugsField(forms.Field):
    """The selected endpoints: a parameter that can be repeated."""

    widget = forms.SelectMultiple

    @override
    def clean(self, value: list[str]) -> tuple[str, ...]:
        slugs = dict.fromkeys(slug.strip()[:60] for slug in value[:MAX_ENDPOINTS])
        return tuple(slug for slug in slugs if slug and "\0" not in slug)


def _enum_field(enum: type[StrEnum]) -> forms.TypedChoiceField:
    choices = [(member.value, member.value) for member in enum]
    return forms.TypedChoiceField(required=False, choices=choices, coerce=enum)


class CompareFilterForm(QueryForm):
    tab = _enum_field(Tab)
    span = _enum_field(Span)
    metric = _enum_field(Metric)
    range = _enum_field(TimeRange)
    model = text_field()
    q = text_field(max_length=100)
    endpoint = SlugsField(required=False)
    page = text_field(max_length=6)
