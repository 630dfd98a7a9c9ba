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
from health.gate_result import (
    ConditionState,
    Evidence,
    GateCondition,
    GateFacts,
    GateResult,
    MetricName,
    Sentence,
    TrialCounts,
)
from health.gate_table import (
    DEFAULTS,
    PROMOTION_STAGES,
    Gate,
    Gates,
    find_gate_errors,
    gates_from_json,
)
from health.rate_bounds import success_bounds, trials_to_settle
from health.stages import next_stage
from probes.outcomes import Metric

_HOUR = timedelta(hours=1)
_KNOWN = list(Known)


def evaluate_gates(gates: Gates, facts: GateFacts, *, version: int | None = None) -> GateResult:
    """Where the profile of those facts stands under those gates."""
    wanted = next_stage(facts.stage)
    conditions = () if wanted is None else tuple(_GateConditions(gates.of[wanted], facts).all())
    return GateResult(facts.stage, wanted, conditions, version)


@dataclass(frozen=True, slots=True)
class _GateConditions:
    """The conditions of one gate. What asks for nothing is no condition."""

    gate: Gate
    facts: GateFacts

    def all(self) -> Iterator[GateCondition]:
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

    def _format(self) -> GateCondition:
        found = self.facts.tool_call_format
        state = ConditionState.MET if found and found != "none" else ConditionState.NOT_MET
        told = Sentence(said.FORMAT[state], {"format": found})
        if found is None:
            state, told = ConditionState.NO_DATA, Sentence(said.FORMAT[ConditionState.NO_DATA])
        return GateCondition("format", state, told, found, "measured", self._profile)

    def _fresh(self) -> GateCondition:
        state = ConditionState.NOT_MET if self.facts.is_stale else ConditionState.MET
        if not self.facts.runs:
            state = ConditionState.NO_DATA
        figure = "stale" if self.facts.is_stale else "fresh"
        return GateCondition(
            "fresh", state, Sentence(said.FRESH[state]), figure, "fresh", self._last_run
        )

    def _runs(self) -> Iterator[GateCondition]:
        counts = (
            ("runs", self.facts.runs, self.gate.runs, said.runs),
            ("full_runs", self.facts.full_runs, self.gate.full_runs, said.full_runs),
        )
        for key, runs, wanted, text in counts:
            if wanted:
                told = Sentence(text, {"count": len(runs), "wanted": wanted})
                evidence = ("run", runs[-1]) if runs else None
                yield GateCondition(
                    key, _enough(len(runs), wanted), told, len(runs), wanted, evidence
                )

    def _trials(self) -> Iterator[GateCondition]:
        found = self.facts.figures.get(Metric.PARSE_SUCCESS, TrialCounts(0, 0)).trials
        wanted = self.gate.trials
        if wanted:
            told = Sentence(said.trials, {"count": found, "wanted": wanted})
            evidence = ("metric", Metric.PARSE_SUCCESS.value)
            yield GateCondition("trials", _enough(found, wanted), told, found, wanted, evidence)

    def _baseline(self) -> Iterator[GateCondition]:
        known, wanted = self.facts.baseline, self.gate.baseline
        if wanted is Known.NONE:
            return
        state = (
            ConditionState.MET
            if _KNOWN.index(known) >= _KNOWN.index(wanted)
            else ConditionState.NOT_MET
        )
        if known is Known.NONE:
            state = ConditionState.NO_DATA
        text = said.BASELINE[known if state is ConditionState.MET else Known.NONE, wanted]
        told = Sentence(text, {"runs": PROBE.runs, "trials": PROBE.frozen})
        yield GateCondition("baseline", state, told, known.value, wanted.value, self._profile)

    def _rate(self, metric: Metric, bar: float) -> GateCondition:
        return _judge(f"rate.{metric.value}", metric, self.facts.figures.get(metric), bar, PROBE)

    def _live(self, metric: Metric, bar: float) -> GateCondition:
        found = self.facts.live.get(metric, TrialCounts(0, 0))
        key, least = f"live.{metric.value}", self.gate.live_trials
        if found.trials >= max(least, 1):
            return _judge(key, metric, found, bar, LIVE)
        state, text = ConditionState.MET, said.FEW_LIVE
        if self.gate.live_wanted:
            state, text = (
                ConditionState.INCONCLUSIVE if found.trials else ConditionState.NO_DATA,
                said.WANTS_LIVE,
            )
        name = MetricName(metric, is_live=True)
        told = Sentence(text, {"metric": name, "trials": found.trials, "least": least})
        return GateCondition(key, state, told, None, bar, ("metric", metric.value))

    def _incidents(self) -> GateCondition:
        opened, most = self.facts.incidents, self.gate.open_incidents
        state = ConditionState.MET if len(opened) <= most else ConditionState.NOT_MET
        told = Sentence(said.incidents, {"count": len(opened)})
        evidence = ("incident", opened[0]) if opened else None
        return GateCondition(
            "incidents", state, told if opened else Sentence(said.CALM), len(opened), most, evidence
        )

    def _age(self) -> Iterator[GateCondition]:
        hours, wanted = self.facts.age / _HOUR, self.gate.age / _HOUR
        if wanted:
            state = ConditionState.MET if hours >= wanted else ConditionState.NOT_MET
            # Downwards: what is nearly there must not read as if it were.
            told = Sentence(
                said.AGE, {"hours": f"{int(hours * 10) / 10:g}", "wanted": f"{wanted:g}"}
            )
            yield GateCondition("age", state, told, round(hours, 2), wanted, self._profile)

    def _budget(self) -> GateCondition:
        state = ConditionState.NOT_MET if self.facts.is_spent_out else ConditionState.MET
        figure = "spent" if self.facts.is_spent_out else "left"
        return GateCondition("budget", state, Sentence(said.BUDGET[state]), figure, "left", None)

    @property
    def _profile(self) -> Evidence:
        return ("profile", self.facts.epoch)

    @property
    def _last_run(self) -> Evidence | None:
        return ("run", self.facts.runs[-1]) if self.facts.runs else None


def _judge(
    key: str, metric: Metric, found: TrialCounts | None, bar: float, lane: Lane
) -> GateCondition:
    """Whether a rate is surely at or above a bar, surely below it, or neither."""
    evidence = ("metric", metric.value)
    name = MetricName(metric, is_live=lane is LIVE)
    if found is None or not found.trials:
        told = Sentence(said.NO_TRIALS, {"metric": name, "bar": _share(bar)})
        return GateCondition(key, ConditionState.NO_DATA, told, None, bar, evidence)
    low, high = success_bounds(found, lane)
    facts = {
        "metric": name,
        "good": found.trials - found.failures,
        "trials": found.trials,
        "low": _share(low),
        "high": _share(high),
        "bar": _share(bar),
    }
    if low >= bar:
        state, told = ConditionState.MET, Sentence(said.REACHED, facts)
    elif high < bar:
        state, told = ConditionState.NOT_MET, Sentence(said.MISSED, facts)
    else:
        state, told = (
            ConditionState.INCONCLUSIVE,
            _unsettled(facts, trials_to_settle(found, bar, lane)),
        )
    return GateCondition(key, state, told, round(low, 4), bar, evidence)


def _unsettled(facts: dict[str, object], more: int | None) -> Sentence:
    if more is None:
        return Sentence(said.TOO_NEAR, facts)
    return Sentence(said.more_trials, {**facts, "count": more})


def _enough(count: int, wanted: int) -> ConditionState:
    if count >= wanted:
        return ConditionState.MET
    return ConditionState.NOT_MET if count else ConditionState.NO_DATA


def _share(rate: float) -> str:
    return f"{rate:.1%}"


__all__ = [
    "DEFAULTS",
    "PROMOTION_STAGES",
    "ConditionState",
    "Evidence",
    "Gate",
    "GateCondition",
    "GateFacts",
    "GateResult",
    "Gates",
    "Sentence",
    "TrialCounts",
    "evaluate_gates",
    "find_gate_errors",
    "gates_from_json",
]
