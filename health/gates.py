"""Evaluates the promotion criteria of a profile: one condition after another, with figures.

An interval that contains the required rate is inconclusive: more trials are needed.
docs/rollouts.md describes each condition.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta

from health import gate_sentences as sentences
from health.capability import UNSETTLED
from health.client_view import TEXT_FORMATS
from health.detector import LIVE, PROBE, BaselineState, Lane
from health.gate_result import (
    ClientReasons,
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
from health.watch_step import YEAR
from probes.outcomes import Metric

_HOUR = timedelta(hours=1)
_CLIENT_STATES = {"yes": ConditionState.MET, "no": ConditionState.NOT_MET}
_BASELINE_ORDER = list(BaselineState)


def evaluate_gates(gates: Gates, facts: GateFacts, *, version: int | None = None) -> GateResult:
    """Evaluate the gate in front of the next stage."""
    stage = next_stage(facts.stage)
    conditions = () if stage is None else tuple(_GateConditions(gates.by_stage[stage], facts).all())
    return GateResult(facts.stage, stage, conditions, version)


@dataclass(frozen=True, slots=True)
class _GateConditions:
    """The conditions of one gate; a requirement of zero yields no condition."""

    gate: Gate
    facts: GateFacts

    def all(self) -> Iterator[GateCondition]:
        yield self._format_condition()
        yield from self._client_conditions()
        yield self._freshness_condition()
        yield from self._run_conditions()
        yield from self._trial_conditions()
        yield from self._baseline_conditions()
        for metric, bar in self.gate.rates.items():
            yield self._probe_rate_condition(metric, bar)
        yield self._incident_condition()
        yield from self._age_conditions()
        for metric, bar in self.gate.live_rates.items():
            yield self._live_rate_condition(metric, bar)
        yield self._budget_condition()

    def _format_condition(self) -> GateCondition:
        call_format = self.facts.tool_call_format
        works = call_format not in (None, "none", UNSETTLED)
        state = ConditionState.MET if works else ConditionState.NOT_MET
        sentence = Sentence(sentences.FORMAT[state], {"format": call_format})
        if call_format == UNSETTLED:
            sentence = Sentence(sentences.SEVERAL_FORMATS)
        if call_format is None:
            state, sentence = (
                ConditionState.NO_DATA,
                Sentence(sentences.FORMAT[ConditionState.NO_DATA]),
            )
        return GateCondition("format", state, sentence, call_format, "measured", self._profile)

    def _client_conditions(self) -> Iterator[GateCondition]:
        """Whether an ordinary SDK works; one that reads calls out of the text is no such SDK."""
        if not self.gate.ordinary_client:
            return
        is_text = self.facts.tool_call_format in TEXT_FORMATS
        view = self.facts.client_view.without_format if is_text else self.facts.client_view
        state = _CLIENT_STATES.get(view.works_with_sdk, ConditionState.NO_DATA)
        reasons = ClientReasons(view.reasons)
        text = sentences.TEXT_CLIENT if is_text and not view.reasons else sentences.CLIENT[state]
        sentence = Sentence(text, {"reasons": reasons, "format": self.facts.tool_call_format})
        yield GateCondition(
            "ordinary_client", state, sentence, view.works_with_sdk, "yes", self._profile
        )

    def _freshness_condition(self) -> GateCondition:
        state = ConditionState.NOT_MET if self.facts.is_stale else ConditionState.MET
        if not self.facts.runs:
            state = ConditionState.NO_DATA
        figure = "stale" if self.facts.is_stale else "fresh"
        return GateCondition(
            "fresh", state, Sentence(sentences.FRESH[state]), figure, "fresh", self._last_run
        )

    def _run_conditions(self) -> Iterator[GateCondition]:
        counts = (
            ("runs", self.facts.runs, self.gate.runs, sentences.runs),
            ("full_runs", self.facts.full_runs, self.gate.full_runs, sentences.full_runs),
        )
        for key, runs, required, text in counts:
            if required:
                sentence = Sentence(text, {"count": len(runs), "wanted": required})
                evidence = ("run", runs[-1]) if runs else None
                yield GateCondition(
                    key, _count_state(len(runs), required), sentence, len(runs), required, evidence
                )

    def _trial_conditions(self) -> Iterator[GateCondition]:
        trials = self.facts.figures.get(Metric.PARSE_SUCCESS, TrialCounts(0, 0)).trials
        required = self.gate.trials
        if required:
            sentence = Sentence(sentences.trials, {"count": trials, "wanted": required})
            evidence = ("metric", Metric.PARSE_SUCCESS.value)
            yield GateCondition(
                "trials", _count_state(trials, required), sentence, trials, required, evidence
            )

    def _baseline_conditions(self) -> Iterator[GateCondition]:
        baseline, required = self.facts.baseline, self.gate.baseline
        if required is BaselineState.NONE:
            return
        state = (
            ConditionState.MET
            if _BASELINE_ORDER.index(baseline) >= _BASELINE_ORDER.index(required)
            else ConditionState.NOT_MET
        )
        if baseline is BaselineState.NONE:
            state = ConditionState.NO_DATA
        text = sentences.BASELINE[
            baseline if state is ConditionState.MET else BaselineState.NONE, required
        ]
        lane = PROBE.at_cadence(YEAR / self.facts.interval)
        sentence = Sentence(text, {"runs": lane.runs, "trials": lane.frozen})
        yield GateCondition(
            "baseline", state, sentence, baseline.value, required.value, self._profile
        )

    def _probe_rate_condition(self, metric: Metric, bar: float) -> GateCondition:
        return _rate_condition(
            f"rate.{metric.value}", metric, self.facts.figures.get(metric), bar, PROBE
        )

    def _live_rate_condition(self, metric: Metric, bar: float) -> GateCondition:
        counts = self.facts.live.get(metric, TrialCounts(0, 0))
        key, min_trials = f"live.{metric.value}", self.gate.live_trials
        if counts.trials >= max(min_trials, 1):
            return _rate_condition(key, metric, counts, bar, LIVE)
        state, text = ConditionState.MET, sentences.FEW_LIVE
        if self.gate.live_wanted:
            state, text = (
                ConditionState.INCONCLUSIVE if counts.trials else ConditionState.NO_DATA,
                sentences.WANTS_LIVE,
            )
        name = MetricName(metric, is_live=True)
        sentence = Sentence(text, {"metric": name, "trials": counts.trials, "least": min_trials})
        return GateCondition(key, state, sentence, None, bar, ("metric", metric.value))

    def _incident_condition(self) -> GateCondition:
        incidents, max_open = self.facts.incidents, self.gate.open_incidents
        state = ConditionState.MET if len(incidents) <= max_open else ConditionState.NOT_MET
        sentence = Sentence(sentences.incidents, {"count": len(incidents)})
        evidence = ("incident", incidents[0]) if incidents else None
        return GateCondition(
            "incidents",
            state,
            sentence if incidents else Sentence(sentences.CALM),
            len(incidents),
            max_open,
            evidence,
        )

    def _age_conditions(self) -> Iterator[GateCondition]:
        hours, required = self.facts.age / _HOUR, self.gate.age / _HOUR
        if required:
            state = ConditionState.MET if hours >= required else ConditionState.NOT_MET
            # Rounded down: 23.96 hours must not read as 24.
            sentence = Sentence(
                sentences.AGE, {"hours": f"{int(hours * 10) / 10:g}", "wanted": f"{required:g}"}
            )
            yield GateCondition("age", state, sentence, round(hours, 2), required, self._profile)

    def _budget_condition(self) -> GateCondition:
        state = ConditionState.NOT_MET if self.facts.is_budget_spent else ConditionState.MET
        figure = "spent" if self.facts.is_budget_spent else "left"
        return GateCondition(
            "budget", state, Sentence(sentences.BUDGET[state]), figure, "left", None
        )

    @property
    def _profile(self) -> Evidence:
        return ("profile", self.facts.epoch)

    @property
    def _last_run(self) -> Evidence | None:
        return ("run", self.facts.runs[-1]) if self.facts.runs else None


def _rate_condition(
    key: str, metric: Metric, counts: TrialCounts | None, bar: float, lane: Lane
) -> GateCondition:
    """Met if the interval is at or above the bar, not met if it is below, else inconclusive."""
    evidence = ("metric", metric.value)
    name = MetricName(metric, is_live=lane is LIVE)
    if counts is None or not counts.trials:
        sentence = Sentence(sentences.NO_TRIALS, {"metric": name, "bar": _percent(bar)})
        return GateCondition(key, ConditionState.NO_DATA, sentence, None, bar, evidence)
    low, high = success_bounds(counts, lane)
    facts = {
        "metric": name,
        "good": counts.trials - counts.failures,
        "trials": counts.trials,
        "low": _percent(low),
        "high": _percent(high),
        "bar": _percent(bar),
    }
    if low >= bar:
        state, sentence = ConditionState.MET, Sentence(sentences.REACHED, facts)
    elif high < bar:
        state, sentence = ConditionState.NOT_MET, Sentence(sentences.MISSED, facts)
    else:
        state, sentence = (
            ConditionState.INCONCLUSIVE,
            _inconclusive_sentence(facts, trials_to_settle(counts, bar, lane)),
        )
    return GateCondition(key, state, sentence, round(low, 4), bar, evidence)


def _inconclusive_sentence(facts: dict[str, object], more: int | None) -> Sentence:
    if more is None:
        return Sentence(sentences.TOO_NEAR, facts)
    return Sentence(sentences.more_trials, {**facts, "count": more})


def _count_state(count: int, required: int) -> ConditionState:
    if count >= required:
        return ConditionState.MET
    return ConditionState.NOT_MET if count else ConditionState.NO_DATA


def _percent(rate: float) -> str:
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
