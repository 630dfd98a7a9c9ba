"""The timeline of an incident: events, decisions, mode switches and runs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby

from django.db.models import Q
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from dashboard.models import Incident, ModeSwitch, RunMetric, WatchEvent
from dashboard.models.watch import ACCEPTED, ACKNOWLEDGED, RELEASED, Lane
from dashboard.runs.table import TRIGGER_LABELS
from dashboard.trust import text as figure_text
from health.rates import Direction, Rate, metric_rate
from health.watch import ChangeKind
from probes.outcomes import Metric

MAX_RUNS = 300
_TITLES = {
    ChangeKind.WARNED.value: gettext_lazy(
        "The sums warn: runs that confirm it or not are asked for"
    ),
    ChangeKind.OPENED.value: gettext_lazy("Opened"),
    ChangeKind.ESCALATED.value: gettext_lazy("Became more severe"),
    ChangeKind.EASED.value: gettext_lazy("Eased"),
    ChangeKind.RELEASE_WANTED.value: gettext_lazy("Recovered, awaiting release"),
    ChangeKind.RELEASE_WITHDRAWN.value: gettext_lazy("Recovery lost: later runs were bad"),
    ChangeKind.RECOVERED.value: gettext_lazy("Recovered"),
    ChangeKind.SUPERSEDED.value: gettext_lazy("Superseded by another key or suite"),
    RELEASED: gettext_lazy("Leaving was allowed"),
    ACCEPTED: gettext_lazy("Accepted as the new normal"),
    ACKNOWLEDGED: gettext_lazy("Acknowledged"),
}
# Events that end a warning: one before them did not lead to the incident.
_WARNING_ENDS = (
    ChangeKind.CALMED.value,
    ChangeKind.RECOVERED.value,
    ChangeKind.SUPERSEDED.value,
    ACCEPTED,
)


@dataclass(frozen=True, slots=True)
class TimelineRun:
    """One run and its rate of the metric."""

    run_id: int
    trigger: str
    at: datetime
    rate: Rate


@dataclass(frozen=True, slots=True)
class TimelineEntry:
    """One line of the timeline; `runs` are consecutive runs."""

    at: datetime
    kind: str
    title: str
    severity: int | None = None
    details: tuple[str, ...] = ()
    by: str = ""
    note: str = ""
    runs: tuple[TimelineRun, ...] = ()

    @property
    def total_text(self) -> str:
        """The trials of all runs together, counted as the metric is shown."""
        count = sum(run.rate.count for run in self.runs)
        trials = sum(run.rate.trials for run in self.runs)
        is_high_good = self.runs[0].rate.good is Direction.HIGH
        message = (
            _("{count} of {trials} went well")
            if is_high_good
            else _("{count} of {trials} went badly")
        )
        return message.format(count=count, trials=trials)

    @property
    def newest_runs(self) -> tuple[TimelineRun, ...]:
        return self.runs[-12:]


def read_timeline(incident: Incident) -> list[TimelineEntry]:
    """Read everything from the first warning until the end or now, oldest first; four queries."""
    warning = _find_warning(incident)
    since = warning.at if warning else incident.opened_at
    events = [*([warning] if warning else []), *_events(incident)]
    entries = [
        *_event_entries(events),
        *_switch_entries(incident),
        *_run_entries(incident, since),
    ]
    # A run comes before the events it caused, and those before the mode switches.
    order = {"run": 0, "mode-on": 2, "mode-off": 2}
    entries.sort(key=lambda entry: (entry.at, order.get(entry.kind, 1)))
    return list(_merge_runs(entries))


def _find_warning(incident: Incident) -> WatchEvent | None:
    """The warning that led to the incident, if there was one."""
    before = WatchEvent.objects.filter(
        Q(kind=ChangeKind.WARNED.value) | Q(kind__in=_WARNING_ENDS),
        profile=incident.profile_id,
        metric=incident.metric,
        lane=incident.lane,
        after__lt=incident.opened_by,
    )
    last = before.select_related("by").order_by("-id").first()
    return last if last and last.kind == ChangeKind.WARNED.value else None


def _events(incident: Incident) -> Iterable[WatchEvent]:
    return incident.events.select_related("by").order_by("at", "id")


def _event_entries(events: Iterable[WatchEvent]) -> Iterator[TimelineEntry]:
    for event in events:
        is_decision = event.kind in (ACCEPTED, RELEASED, ACKNOWLEDGED)
        yield TimelineEntry(
            event.at,
            event.kind,
            str(_TITLES.get(event.kind, event.kind.replace("_", " "))),
            severity=None
            if is_decision or event.kind == ChangeKind.WARNED.value
            else event.severity,
            details=() if is_decision else tuple(_details(event)),
            by=event.by.get_username() if event.by else "",
            note=event.note,
        )


def _details(event: WatchEvent) -> list[str]:
    return figure_text.figure_sentences(Metric(event.metric), event.figures)


def _switch_entries(incident: Incident) -> Iterator[TimelineEntry]:
    switches = list(incident.switches.select_related("off_by").order_by("on_at", "id"))
    for at, group in groupby(switches, key=lambda switch: switch.on_at):
        title = _("Switched on: {modes}").format(modes=_names(group))
        yield TimelineEntry(at, "mode-on", title)
    off = sorted((s for s in switches if s.off_at), key=lambda s: (s.off_at, s.off_by_id or 0))
    for (off_at, _who), group in groupby(off, key=lambda switch: (switch.off_at, switch.off_by_id)):
        ended = list(group)
        assert off_at is not None
        who = ended[0].off_by
        yield TimelineEntry(
            off_at,
            "mode-off",
            _("Switched off: {modes}").format(modes=_names(ended)),
            by=who.get_username() if who else "",
            note=ended[0].off_reason if who else "",
        )


def _names(switches: Iterable[ModeSwitch]) -> str:
    return ", ".join(switch.mode for switch in switches)


def _run_entries(incident: Incident, since: datetime) -> Iterator[TimelineEntry]:
    """The runs of the probe lane; live traffic has none."""
    if incident.lane != Lane.PROBE:
        return
    metric = Metric(incident.metric)
    rows = RunMetric.objects.filter(
        profile=incident.profile_id, metric=metric.value, finished_at__gte=since
    ).filter(watched_trials__gt=0)
    if incident.ended_at:
        rows = rows.filter(finished_at__lte=incident.ended_at)
    for row in rows.select_related("run").order_by("-finished_at")[:MAX_RUNS]:
        rate = metric_rate(metric, row.watched_trials, row.watched_failures)
        run = TimelineRun(row.run_id, row.run.trigger, row.finished_at, rate)
        yield TimelineEntry(row.finished_at, "run", "", runs=(run,))


def _merge_runs(entries: list[TimelineEntry]) -> Iterator[TimelineEntry]:
    """Merge consecutive runs with the same trigger into one entry."""

    def group_key(entry: TimelineEntry) -> tuple[str, object]:
        # An entry that is no run stays on its own.
        return ("run", entry.runs[0].trigger) if entry.runs else ("", id(entry))

    for (kind, _why), group in groupby(entries, key=group_key):
        grouped = list(group)
        if kind != "run":
            yield from grouped
            continue
        runs = tuple(run for entry in grouped for run in entry.runs)
        yield TimelineEntry(runs[-1].at, "run", _run_title(runs), runs=runs)


def _run_title(runs: tuple[TimelineRun, ...]) -> str:
    message = ngettext("{count} run: {why}", "{count} runs: {why}", len(runs))
    why = TRIGGER_LABELS.get(runs[0].trigger, runs[0].trigger)
    return message.format(count=len(runs), why=why)
