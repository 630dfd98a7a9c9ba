"""Reads the pages of incidents: the list with its filters, and the preview of a new baseline."""

from __future__ import annotations

from dataclasses import dataclass

from django import forms
from django.db.models import F, Q, QuerySet
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from dashboard.core.query_form import QueryFilter, QueryForm, choice_field, text_field
from dashboard.models import Endpoint, Incident, Profile
from dashboard.models.people import Teams
from dashboard.trust import detection
from dashboard.trust.text import format_day
from health.metric_names import metric_name
from health.modes import WATCHED
from health.rates import Rate, metric_rate
from health.severity import Severity
from probes.outcomes import Metric

PAGE_SIZE = 50
PAST = "past"
STATE_LABELS = {
    Incident.State.OPEN.value: gettext_lazy("open"),
    PAST: gettext_lazy("past, however it ended"),
    Incident.State.RECOVERED.value: gettext_lazy("recovered"),
    Incident.State.ACCEPTED.value: gettext_lazy("accepted as normal"),
    Incident.State.SUPERSEDED.value: gettext_lazy("superseded"),
}


@dataclass(frozen=True, slots=True)
class IncidentHeading:
    """The texts that name an incident."""

    incident: Incident

    @property
    def headline(self) -> str:
        return detection.incident_headline(self.incident)

    @property
    def title(self) -> str:
        """The headline with its day (UTC)."""
        message = _("{finding} on {day}")
        return message.format(finding=self.headline, day=format_day(self.incident.opened_at))

    @property
    def state_label(self) -> str:
        return str(STATE_LABELS[self.incident.state])

    @property
    def endpoint(self) -> Endpoint:
        return self.incident.profile.endpoint

    @property
    def metric_label(self) -> str:
        return metric_name(Metric(self.incident.metric))

    @property
    def is_open(self) -> bool:
        return self.incident.ended_at is None


@dataclass(frozen=True, slots=True)
class IncidentFilter(QueryFilter):
    """Which incidents a list shows. An empty field does not filter."""

    state: str = ""
    endpoint: str = ""
    severity: int | None = None
    metric: str = ""

    @property
    def is_all(self) -> bool:
        return not (self.state or self.endpoint or self.severity or self.metric)


class IncidentFilterForm(QueryForm):
    state = choice_field(STATE_LABELS)
    endpoint = text_field(max_length=60)
    severity = forms.TypedChoiceField(
        required=False, choices=[(each.value, "") for each in Severity], coerce=int
    )
    metric = choice_field(WATCHED)


def find_incidents(incident_filter: IncidentFilter, teams: Teams) -> QuerySet[Incident]:
    """The incidents of these teams that match: open ones first, then the newest."""
    incidents = Incident.objects.filter(profile__endpoint__removed_at=None)
    if teams is not None:
        incidents = incidents.filter(profile__endpoint__team__in=teams)
    if incident_filter.state == PAST:
        incidents = incidents.filter(ended_at__isnull=False)
    elif incident_filter.state:
        incidents = incidents.filter(state=incident_filter.state)
    if incident_filter.metric:
        incidents = incidents.filter(metric=incident_filter.metric)
    if incident_filter.endpoint:
        incidents = incidents.filter(profile__endpoint__slug=incident_filter.endpoint)
    if incident_filter.severity:
        # As the list shows it: an ended incident has its worst severity.
        now = Q(ended_at=None, severity=incident_filter.severity)
        incidents = incidents.filter(
            now | Q(ended_at__isnull=False, worst=incident_filter.severity)
        )
    order = (F("ended_at").desc(nulls_first=True), "-severity", "-opened_at", "-id")
    return incidents.select_related("profile__endpoint", "acknowledged_by").order_by(*order)


def read_open_incidents(profile: Profile) -> list[IncidentHeading]:
    """The open incidents of a profile, worst first."""
    incidents = profile.incidents.filter(ended_at=None).select_related("profile__endpoint")
    return [IncidentHeading(incident) for incident in incidents.order_by("-severity", "opened_at")]


@dataclass(frozen=True, slots=True)
class NewBaseline:
    """The baseline that accepting the current behaviour would set."""

    runs: tuple[tuple[int, Rate], ...]  # id and rate of each run, newest first
    overall: Rate


def read_new_baseline(profile: Profile, metric: Metric) -> NewBaseline:
    """Read the runs that a baseline reset would use now."""
    candidates = detection.baseline_candidates(profile, metric)
    counts = [(row.run_id, row.watched_trials, row.watched_failures) for row in candidates]
    trials, failures = sum(count[1] for count in counts), sum(count[2] for count in counts)
    runs = tuple((run, metric_rate(metric, total, failed)) for run, total, failed in counts)
    return NewBaseline(runs, metric_rate(metric, trials, failures))
