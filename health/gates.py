"""Whether the next stage of a profile may be asked for, in words and figures.

An interval that reaches over the bar settles nothing: then one waits for more trials, which is
neither a yes nor a no. docs/rollouts.md tells people what each condition is.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta

from health import gate_sentences as said
from health.detector import LIVE, PROBE, Known, Lane
from health.gate_result import Condition, Evidence, Facts, Figure, Named, Standing, State, Told
from health.gate_table import ASKED_FOR, DEFAULTS, Gate, Gates, gates_from_json, mistakes
from health.rate_bounds import bounds, trials_to_settle
from health.stages import next_of
from probes.outcomes import Metric

_HOUR = timedelta(hours=1)
_KNOWN = list(Known)


def evaluate(gates: Gates, facts: Facts, *, version: int | None = None) -> Standing:
    """Where the profile of those facts stands under those gates."""
    wanted = next_of(facts.stage)
    conditions = () if wanted is None else tuple(_Judged(gates.of[wanted], facts).all())
    return Standing(facts.stage, wanted, conditions, version)


@dataclass(frozen=True, slots=True)
class _Judged:
    """The conditions of one gate. What asks for nothing is no condition."""

    gate: Gate
    facts: Facts

    def all(self) -> Iterator[Condition]:
        yield self._format()
        yield self._fresh()
        yield from self._runs()
        yield from self._trials()
        yield from self._baseline()
        for metric, bar in self.gate.rates.items():
            yield self._rate(metric, bar)
        yield self._incidents()
        yield from self._age()
        for metric, bar in self.gate.live_rates.items():
            yield self._live(metric, bar)
        yield self._budget()

    def _format(self) -> Condition:
        found = self.facts.tool_call_format
        state = State.MET if found and found != "none" else State.NOT_MET
        told = Told(said.FORMAT[state], {"format": found})
        if found is None:
            state, told = State.NO_DATA, Told(said.FORMAT[State.NO_DATA])
        return Condition("format", state, told, found, "measured", self._profile)

    def _fresh(self) -> Condition:
        state = State.NOT_MET if self.facts.is_stale else State.MET
        if not self.facts.runs:
            state = State.NO_DATA
        figure = "stale" if self.facts.is_stale else "fresh"
        return Condition("fresh", state, Told(said.FRESH[state]), figure, "fresh", self._last_run)

    def _runs(self) -> Iterator[Condition]:
        counts = (
            ("runs", self.facts.runs, self.gate.runs, said.runs),
            ("full_runs", self.facts.full_runs, self.gate.full_runs, said.full_runs),
        )
        for key, runs, wanted, text in counts:
            if wanted:
                told = Told(text, {"count": len(runs), "wanted": wanted})
                evidence = ("run", runs[-1]) if runs else None
                yield Condition(key, _enough(len(runs), wanted), told, len(runs), wanted, evidence)

    def _trials(self) -> Iterator[Condition]:
        found = self.facts.figures.get(Metric.PARSE_SUCCESS, Figure(0, 0)).trials
        wanted = self.gate.trials
        if wanted:
            told = Told(said.trials, {"count": found, "wanted": wanted})
            evidence = ("metric", Metric.PARSE_SUCCESS.value)
            yield Condition("trials", _enough(found, wanted), told, found, wanted, evidence)

    def _baseline(self) -> Iterator[Condition]:
        known, wanted = self.facts.baseline, self.gate.baseline
        if wanted is Known.NONE:
            return
        state = State.MET if _KNOWN.index(known) >= _KNOWN.index(wanted) else State.NOT_MET
        if known is Known.NONE:
            state = State.NO_DATA
        text = said.BASELINE[known if state is State.MET else Known.NONE, wanted]
        told = Told(text, {"runs": PROBE.runs, "trials": PROBE.frozen})
        yield Condition("baseline", state, told, known.value, wanted.value, self._profile)

    def _rate(self, metric: Metric, bar: float) -> Condition:
        return _judge(f"rate.{metric.value}", metric, self.facts.figures.get(metric), bar, PROBE)

    def _live(self, metric: Metric, bar: float) -> Condition:
        found = self.facts.live.get(metric, Figure(0, 0))
        key, least = f"live.{metric.value}", self.gate.live_trials
        if found.trials >= max(least, 1):
            return _judge(key, metric, found, bar, LIVE)
        state, text = State.MET, said.FEW_LIVE
        if self.gate.live_wanted:
            state, text = State.INCONCLUSIVE if found.trials else State.NO_DATA, said.WANTS_LIVE
        name = Named(metric, is_live=True)
        told = Told(text, {"metric": name, "trials": found.trials, "least": least})
        return Condition(key, state, told, None, bar, ("metric", metric.value))

    def _incidents(self) -> Condition:
        opened, most = self.facts.incidents, self.gate.open_incidents
        state = State.MET if len(opened) <= most else State.NOT_MET
        told = Told(said.incidents, {"count": len(opened)})
        evidence = ("incident", opened[0]) if opened else None
        return Condition(
            "incidents", state, told if opened else Told(said.CALM), len(opened), most, evidence
        )

    def _age(self) -> Iterator[Condition]:
        hours, wanted = self.facts.age / _HOUR, self.gate.age / _HOUR
        if wanted:
            state = State.MET if hours >= wanted else State.NOT_MET
            # Downwards: what is nearly there must not read as if it were.
            told = Told(said.AGE, {"hours": f"{int(hours * 10) / 10:g}", "wanted": f"{wanted:g}"})
            yield Condition("age", state, told, round(hours, 2), wanted, self._profile)

    def _budget(self) -> Condition:
        state = State.NOT_MET if self.facts.is_spent_out else State.MET
        figure = "spent" if self.facts.is_spent_out else "left"
        return Condition("budget", state, Told(said.BUDGET[state]), figure, "left", None)

    @property
    def _profile(self) -> Evidence:
        return ("profile", self.facts.epoch)

    @property
    def _last_run(self) -> Evidence | None:
        return ("run", self.facts.runs[-1]) if self.facts.runs else None


def _judge(key: str, metric: Metric, found: Figure | None, bar: float, lane: Lane) -> Condition:
    """Whether a rate is surely at or above a bar, surely below it, or neither."""
    evidence = ("metric", metric.value)
    name = Named(metric, is_live=lane is LIVE)
    if found is None or not found.trials:
        told = Told(said.NO_TRIALS, {"metric": name, "bar": _share(bar)})
        return Condition(key, State.NO_DATA, told, None, bar, evidence)
    low, high = bounds(found, lane)
    facts = {
        "metric": name,
        "good": found.trials - found.failures,
        "trials": found.trials,
        "low": _share(low),
        "high": _share(high),
        "bar": _share(bar),
    }
    if low >= bar:
        state, told = State.MET, Told(said.REACHED, facts)
    elif high < bar:
        state, told = State.NOT_MET, Told(said.MISSED, facts)
    else:
        state, told = State.INCONCLUSIVE, _unsettled(facts, trials_to_settle(found, bar, lane))
    return Condition(key, state, told, round(low, 4), bar, evidence)


def _unsettled(facts: dict[str, object], more: int | None) -> Told:
    if more is None:
        return Told(said.TOO_NEAR, facts)
    return Told(said.more_trials, {**facts, "count": more})


def _enough(count: int, wanted: int) -> State:
    if count >= wanted:
        return State.MET
    return State.NOT_MET if count else State.NO_DATA


def _share(rate: float) -> str:
    return f"{rate:.1%}"


__all__ = [
    "ASKED_FOR",
    "DEFAULTS",
    "Condition",
    "Evidence",
    "Facts",
    "Figure",
    "Gate",
    "Gates",
    "Standing",
    "State",
    "Told",
    "evaluate",
    "gates_from_json",
    "mistakes",
]
