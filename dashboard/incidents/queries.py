"""What the pages of incidents read: the list with its filters, and what an acceptance rests on."""

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

PAGE = 50
PAST = "past"
STATE_WORDS = {
    Incident.State.OPEN.value: gettext_lazy("open"),
    PAST: gettext_lazy("past, however it ended"),
    Incident.State.RECOVERED.value: gettext_lazy("recovered"),
    Incident.State.ACCEPTED.value: gettext_lazy("accepted as normal"),
    Incident.State.SUPERSEDED.value: gettext_lazy("superseded"),
}


@dataclass(frozen=True, slots=True)
class Titled:
    """An incident with what it is called."""

    incident: Incident

    @property
    def finding(self) -> str:
        return detection.incident_headline(self.incident)

    @property
    def title(self) -> str:
        """The finding with its day (UTC)."""
        said = _("{finding} on {day}")
        return said.format(finding=self.finding, day=format_day(self.incident.opened_at))

    @property
    def state(self) -> str:
        return str(STATE_WORDS[self.incident.state])

    @property
    def endpoint(self) -> Endpoint:
        return self.incident.profile.endpoint

    @property
    def metric(self) -> str:
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
    state = choice_field(STATE_WORDS)
    endpoint = text_field(max_length=60)
    severity = forms.TypedChoiceField(
        required=False, choices=[(each.value, "") for each in Severity], coerce=int
    )
    metric = choice_field(WATCHED)


def found(asked: IncidentFilter, teams: Teams) -> QuerySet[Incident]:
    """The incidents of kept endpoints of those teams: open ones first, then the newest."""
    incidents = Incident.objects.filter(profile__endpoint__removed_at=None)
    if teams is not None:
        incidents = incidents.filter(profile__endpoint__team__in=teams)
    if asked.state == PAST:
        incidents = incidents.filter(ended_at__isnull=False)
    elif asked.state:
        incidents = incidents.filter(state=asked.state)
    if asked.metric:
        incidents = incidents.filter(metric=asked.metric)
    if asked.endpoint:
        incidents = incidents.filter(profile__endpoint__slug=asked.endpoint)
    if asked.severity:
        # As the list shows it: what is over is as bad as it has been.
        now = Q(ended_at=None, severity=asked.severity)
        incidents = incidents.filter(now | Q(ended_at__isnull=False, worst=asked.severity))
    order = (F("ended_at").desc(nulls_first=True), "-severity", "-opened_at", "-id")
    return incidents.select_related("profile__endpoint", "acknowledged_by").order_by(*order)


def open_of(profile: Profile) -> list[Titled]:
    """The open incidents of a profile, the worst first."""
    opened = profile.incidents.filter(ended_at=None).select_related("profile__endpoint")
    return [Titled(incident) for incident in opened.order_by("-severity", "opened_at")]


@dataclass(frozen=True, slots=True)
class NewNormal:
    """What would become normal, beside what was."""

    runs: tuple[tuple[int, Rate], ...]  # of each run its id and its rate, the newest first
    together: Rate


def new_normal(profile: Profile, metric: Metric) -> NewNormal:
    """The runs that an acceptance of today would take for the baseline."""
    accepted = detection.baseline_candidates(profile, metric)
    counts = [(row.run_id, row.watched_trials, row.watched_failures) for row in accepted]
    trials, failures = sum(count[1] for count in counts), sum(count[2] for count in counts)
    runs = tuple((run, metric_rate(metric, of, bad)) for run, of, bad in counts)
    return NewNormal(runs, metric_rate(metric, trials, failures))
