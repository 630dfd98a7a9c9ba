"""What an address of the page that compares endpoints asks for."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from typing import TypeVar
from urllib.parse import urlencode

from django.http import QueryDict
from django.utils.translation import gettext as _

from dashboard.core.time_range import TimeRange, parse_range
from probes.outcomes import Metric

# More ticks than anybody reads: an address is no place for a whole fleet.
MOST_CHOSEN = 50
Choice = TypeVar("Choice", bound=StrEnum)


class Tab(StrEnum):
    """What the columns are."""

    METRICS = "metrics"
    CAPABILITIES = "capabilities"

    @property
    def words(self) -> str:
        return _("Metrics") if self is Tab.METRICS else _("Capabilities")


class Span(StrEnum):
    """The time that a cell of the heat map stands for."""

    LAST = "last"
    DAY = "24h"
    WEEK = "7d"
    MONTH = "30d"

    @property
    def length(self) -> timedelta | None:
        days = {Span.DAY: 1, Span.WEEK: 7, Span.MONTH: 30}
        return timedelta(days=days[self]) if self in days else None

    @property
    def words(self) -> str:
        return _("last run") if self is Span.LAST else self.value

    @property
    def phrase(self) -> str:
        """What a cell of the heat map stands for."""
        if self is Span.LAST:
            return _("Rates of the last run, from the probe lane.")
        return _("Rates over {span}, from the probe lane.").format(span=self.value)


@dataclass(frozen=True, slots=True)
class Asked:
    """What makes no sense is as if it were not asked for."""

    tab: Tab = Tab.METRICS
    span: Span = Span.WEEK
    metric: Metric = Metric.PARSE_SUCCESS
    range: TimeRange = TimeRange.WEEK
    model: str = ""
    text: str = ""
    endpoints: tuple[str, ...] = ()
    page: str = ""

    @property
    def is_filtered(self) -> bool:
        return bool(self.model or self.text)

    def address(self, **over: object) -> str:
        """The same page with something changed, as the end of an address."""
        asked: dict[str, object] = {
            "tab": self.tab,
            "span": self.span,
            "metric": self.metric,
            "range": self.range,
            "model": self.model,
            "q": self.text,
            "endpoint": self.endpoints,
            "page": self.page,
            **over,
        }
        return "?" + urlencode({name: value for name, value in asked.items() if value}, doseq=True)


def asked_by(query: QueryDict) -> Asked:
    """What the address asks for."""
    slugs = dict.fromkeys(slug[:60] for slug in query.getlist("endpoint")[:MOST_CHOSEN])
    return Asked(
        tab=_named(Tab, query.get("tab"), Tab.METRICS),
        span=_named(Span, query.get("span"), Span.WEEK),
        metric=_named(Metric, query.get("metric"), Metric.PARSE_SUCCESS),
        range=parse_range(query.get("range") or ""),
        model=_plain(query.get("model"))[:200],
        text=_plain(query.get("q"))[:100],
        endpoints=tuple(slug for slug in map(_plain, slugs) if slug),
        page=_plain(query.get("page"))[:6],
    )


def _named(choices: type[Choice], name: str | None, otherwise: Choice) -> Choice:
    return next((choice for choice in choices if choice.value == name), otherwise)


def _plain(text: str | None) -> str:
    # Postgres takes no NUL in a text.
    return (text or "").replace("\x00", "").strip()
