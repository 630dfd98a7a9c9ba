"""The story of an incident, in order of time: what was noticed, done, switched and run."""

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
from dashboard.runs.table import TRIGGER_WORDS
from dashboard.trust import text as figure_words
from health.rates import Direction, Rate, metric_rate
from health.watch import ChangeKind
from probes.outcomes import Metric

MOST_RUNS = 300
_TITLES = {
    ChangeKind.WARNED.value: gettext_lazy(
        "The sums warn: runs that confirm it or not are asked for"
    ),
    ChangeKind.OPENED.value: gettext_lazy("Opened"),
    ChangeKind.ESCALATED.value: gettext_lazy("Became more severe"),
    ChangeKind.EASED.value: gettext_lazy("Eased"),
    ChangeKind.RELEASE_WANTED.value: gettext_lazy("Could be left, but somebody has to allow it"),
    ChangeKind.RECOVERED.value: gettext_lazy("Recovered"),
    ChangeKind.SUPERSEDED.value: gettext_lazy("Superseded by another key or suite"),
    RELEASED: gettext_lazy("Leaving was allowed"),
    ACCEPTED: gettext_lazy("Accepted as the new normal"),
    ACKNOWLEDGED: gettext_lazy("Acknowledged"),
}
# Between these an incident cannot have been warned of.
_QUIET = (
    ChangeKind.CALMED.value,
    ChangeKind.RECOVERED.value,
    ChangeKind.SUPERSEDED.value,
    ACCEPTED,
)


@dataclass(frozen=True, slots=True)
class Counted:
    """One run and what it said about the metric."""

    run_id: int
    trigger: str
    at: datetime
    rate: Rate


@dataclass(frozen=True, slots=True)
class Moment:
    """One line of the story; `runs` are those that came one after the other."""

    at: datetime
    kind: str
    title: str
    severity: int | None = None
    details: tuple[str, ...] = ()
    by: str = ""
    note: str = ""
    runs: tuple[Counted, ...] = ()

    @property
    def together(self) -> str:
        """What the trials of all the runs came to, counted the way that the metric is shown."""
        count = sum(run.rate.count for run in self.runs)
        trials = sum(run.rate.trials for run in self.runs)
        high = self.runs[0].rate.good is Direction.HIGH
        said = _("{count} of {trials} went well") if high else _("{count} of {trials} went badly")
        return said.format(count=count, trials=trials)

    @property
    def newest_runs(self) -> tuple[Counted, ...]:
        return self.runs[-12:]


def of(incident: Incident) -> list[Moment]:
    """Everything from the first warning until the end or now, the oldest first. Four queries."""
    warned = _warned(incident)
    since = warned.at if warned else incident.opened_at
    events = [*([warned] if warned else []), *_events(incident)]
    moments = [*_of_events(events), *_of_switches(incident), *_of_runs(incident, since)]
    # A run comes before what it caused, and that before the modes that followed.
    order = {"run": 0, "mode-on": 2, "mode-off": 2}
    moments.sort(key=lambda moment: (moment.at, order.get(moment.kind, 1)))
    return list(_folded(moments))


def _warned(incident: Incident) -> WatchEvent | None:
    """The warning that led to the incident, where one did."""
    before = WatchEvent.objects.filter(
        Q(kind=ChangeKind.WARNED.value) | Q(kind__in=_QUIET),
        profile=incident.profile_id,
        metric=incident.metric,
        lane=incident.lane,
        after__lt=incident.opened_by,
    )
    last = before.select_related("by").order_by("-id").first()
    return last if last and last.kind == ChangeKind.WARNED.value else None


def _events(incident: Incident) -> Iterable[WatchEvent]:
    return incident.events.select_related("by").order_by("at", "id")


def _of_events(events: Iterable[WatchEvent]) -> Iterator[Moment]:
    for event in events:
        act = event.kind in (ACCEPTED, RELEASED, ACKNOWLEDGED)
        yield Moment(
            event.at,
            event.kind,
            str(_TITLES.get(event.kind, event.kind.replace("_", " "))),
            severity=None if act or event.kind == ChangeKind.WARNED.value else event.severity,
            details=() if act else tuple(_details(event)),
            by=event.by.get_username() if event.by else "",
            note=event.note,
        )


def _details(event: WatchEvent) -> list[str]:
    return figure_words.figure_sentences(Metric(event.metric), event.figures)


def _of_switches(incident: Incident) -> Iterator[Moment]:
    switches = list(incident.switches.select_related("off_by").order_by("on_at", "id"))
    for at, group in groupby(switches, key=lambda switch: switch.on_at):
        title = _("Switched on: {modes}").format(modes=_names(group))
        yield Moment(at, "mode-on", title)
    off = sorted((s for s in switches if s.off_at), key=lambda s: (s.off_at, s.off_by_id or 0))
    for (moment, _who), group in groupby(off, key=lambda switch: (switch.off_at, switch.off_by_id)):
        ended = list(group)
        assert moment is not None
        who = ended[0].off_by
        yield Moment(
            moment,
            "mode-off",
            _("Switched off: {modes}").format(modes=_names(ended)),
            by=who.get_username() if who else "",
            note=ended[0].off_reason if who else "",
        )


def _names(switches: Iterable[ModeSwitch]) -> str:
    return ", ".join(switch.mode for switch in switches)


def _of_runs(incident: Incident, since: datetime) -> Iterator[Moment]:
    """The runs of the probe lane; live traffic has none."""
    if incident.lane != Lane.PROBE:
        return
    metric = Metric(incident.metric)
    counted = RunMetric.objects.filter(
        profile=incident.profile_id, metric=metric.value, finished_at__gte=since
    ).filter(watched_trials__gt=0)
    if incident.ended_at:
        counted = counted.filter(finished_at__lte=incident.ended_at)
    for row in counted.select_related("run").order_by("-finished_at")[:MOST_RUNS]:
        rate = metric_rate(metric, row.watched_trials, row.watched_failures)
        run = Counted(row.run_id, row.run.trigger, row.finished_at, rate)
        yield Moment(row.finished_at, "run", "", runs=(run,))


def _folded(moments: list[Moment]) -> Iterator[Moment]:
    """Runs that follow each other as one line, named after why they were made."""

    def together(moment: Moment) -> tuple[str, object]:
        # What is no run stands for itself.
        return ("run", moment.runs[0].trigger) if moment.runs else ("", id(moment))

    for (kind, _why), group in groupby(moments, key=together):
        each = list(group)
        if kind != "run":
            yield from each
            continue
        runs = tuple(run for moment in each for run in moment.runs)
        yield Moment(runs[-1].at, "run", _run_title(runs), runs=runs)


def _run_title(runs: tuple[Counted, ...]) -> str:
    said = ngettext("{count} run: {why}", "{count} runs: {why}", len(runs))
    why = TRIGGER_WORDS.get(runs[0].trigger, runs[0].trigger)
    return said.format(count=len(runs), why=why)
