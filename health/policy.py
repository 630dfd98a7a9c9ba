"""The policy for callers of an endpoint, resolved from capabilities, modes and stage.

Pure: equal facts give equal policies. Unknown and unsettled capabilities count as absent, and every
further mode only tightens. docs/policy.md describes each field for callers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from health.capabilities import CHOICES
from health.detector import BaselineState
from health.known_tools import VERSION
from health.modes import CONSERVATIVE, Mode, below_gate_modes
from health.policy_facts import ActiveMode, Candidate, PolicyFacts
from health.risk import Risk
from health.translation import mark
from probes.adapters import FORMATS, adapter_for
from probes.dialects import dialect_for, override_dialect
from probes.errors import TargetError
from probes.messages import JSON
from probes.outcomes import Metric
from probes.strict_json import is_same_json
from probes.target import Provider

# More calls than this in one turn are a fault of any endpoint.
MAX_CALLS = 64
# What every suite asks for; profiles of older ones do not have the largest number.
MIN_PARALLEL = 2
MAX_RETRIES = 2
# Errors after which the same request may be sent again.
RETRYABLE = ("network", "timeout", "429", "5xx")
SCHEMA_LEVELS = ("none", "string_only", "simple_object", "strict_json_schema")
_SIMPLE_LEVEL = SCHEMA_LEVELS.index("simple_object")
_TEXT_FORMATS = ("xml", "json_text")
# How often a caller re-asks the model for a call that failed validation, by measured error repair.
# Unmeasured counts as 1: one try costs little.
_REASKS = {"reliable": 2, "limited": 1, "none": 0}

RISKS_BY_STAGE: Mapping[str, tuple[Risk, ...]] = MappingProxyType(
    {
        "shadow": (),
        "read_only": (Risk.READ,),
        "write": (Risk.READ, Risk.WRITE),
        "full": tuple(Risk),
        "rejected": (),
        "rolled_back": (Risk.READ,),
    }
)
# Stored in English; pages translate them with `say`.
_STAGE_REASONS = {
    "shadow": mark("The profile is in shadow: it is probed, and no live tools are allowed."),
    "read_only": mark("The stage allows tools that read."),
    "write": mark("The stage allows tools that read or write."),
    "full": mark("The stage allows all tools."),
    "rejected": mark("The profile was rejected: no live tools are allowed."),
    "rolled_back": mark("The profile was rolled back: only tools that read are allowed."),
}
_NO_FORMAT = mark("No format of tool calls was measured that works.")
# Per field whose trials contradict each other, what the policy does about it.
_UNSETTLED = {
    "tool_call_format": mark("Calls arrive in several formats, so no tools are offered."),
    "supports_parallel_tool_use": mark(
        "Parallel calls work only at times, so one call per turn is allowed."
    ),
    "supports_streaming_tool_use": mark(
        "Streamed calls arrive only at times, so turns with tools are fetched whole."
    ),
    "schema_level": mark("Arguments fit their schema only at times, so schemas are simplified."),
    "reasoning_replay": mark(
        "It is not settled which reasoning must be sent back, so the history stays verbatim."
    ),
    "trimmed_history": mark("Trimmed histories are refused at times, so nothing is trimmed."),
    "tool_choice": mark("Values of tool_choice that work only at times are left out."),
}
_UNMEASURED = mark("Nothing was measured yet.")
_STALE = mark("What was measured is too old.")
_OLD_KEY = mark(
    "What was measured is too old: the key has changed, and the profile of the new one was not "
    "promoted yet."
)
_NEW_TEMPLATE = mark(
    "The vendor changed the chat template, and the profile of the new one was not promoted yet."
)
_DECLARED_TEMPLATE = mark(
    "Another chat template was declared, and the profile of it was not promoted yet."
)
_NEW_ENGINE = mark("The vendor changed the engine, and no run has measured it yet.")
_NO_BASELINE = mark("Too few trials were made to know what is normal.")
_BELOW_GATE = {
    Metric.PARSE_SUCCESS: mark("Parse success never came up to the gate."),
    Metric.SCHEMA_FAILURE: mark("Schema failures never came up to the gate."),
    Metric.CLOSURE_ERROR: mark("Closure errors never came up to the gate."),
    Metric.RESULT_USE: mark("Result use never came up to the gate."),
    Metric.VALUE_FIDELITY: mark("Value fidelity never came up to the gate."),
}
_CANDIDATE_BELOW_GATE = {
    Metric.PARSE_SUCCESS: mark("Parse success of the new profile never came up to the gate."),
    Metric.SCHEMA_FAILURE: mark("Schema failures of the new profile never came up to the gate."),
    Metric.CLOSURE_ERROR: mark("Closure errors of the new profile never came up to the gate."),
    Metric.RESULT_USE: mark("Result use of the new profile never came up to the gate."),
    Metric.VALUE_FIDELITY: mark("Value fidelity of the new profile never came up to the gate."),
}


@dataclass(frozen=True, slots=True)
class ResolvedPolicy:
    """The policy as JSON, and the modes in effect."""

    effective: tuple[Mode, ...]
    body: dict[str, Any]


def resolve_policy(facts: PolicyFacts) -> ResolvedPolicy:
    """Resolve the policy of an endpoint."""
    default = _default_modes(facts)
    switched = {switch.mode for switch in (*facts.all_automatic, *facts.manual)}
    active = switched.union(*(modes for modes, _ in default))
    effective = tuple(mode for mode in Mode if mode in active)
    return ResolvedPolicy(effective, _PolicyBuilder(facts, frozenset(active)).body(default))


def _default_modes(facts: PolicyFacts) -> list[tuple[frozenset[Mode], str]]:
    """Modes that are on by default, in sets with a reason each."""
    defaults: list[tuple[frozenset[Mode], str]] = []
    if not facts.capabilities:
        defaults.append((CONSERVATIVE | {Mode.NO_TOOLS}, _UNMEASURED))
    if facts.is_stale:
        defaults.append((CONSERVATIVE, _OLD_KEY if facts.candidate else _STALE))
    if facts.candidate and facts.candidate.changed_by == "vendor":
        defaults.append((CONSERVATIVE, _NEW_TEMPLATE))
    elif facts.candidate and is_same_json(_target(facts.candidate), _target(facts)):
        # Callers already talk to what was declared.
        defaults.append((CONSERVATIVE, _DECLARED_TEMPLATE))
    if facts.has_new_engine:
        defaults.append((CONSERVATIVE, _NEW_ENGINE))
    if facts.baseline is BaselineState.NONE:
        defaults.append((CONSERVATIVE, _NO_BASELINE))
    for metric in sorted(facts.below_gate):
        defaults.append((below_gate_modes(metric), _BELOW_GATE[metric]))
    for metric in sorted(facts.candidate.below_gate if facts.candidate else ()):
        defaults.append((below_gate_modes(metric), _CANDIDATE_BELOW_GATE[metric]))
    return defaults


@dataclass(frozen=True, slots=True)
class _PolicyBuilder:
    facts: PolicyFacts
    active: frozenset[Mode]

    def body(self, default: Sequence[tuple[frozenset[Mode], str]]) -> dict[str, Any]:
        facts, allowed = self.facts, self._allowed_risks()
        return {
            "endpoint": facts.endpoint,
            "target": _target(facts),
            "profile": {
                "provider": facts.provider,
                "model": facts.model,
                "endpoint": facts.endpoint_url,
                "chat_template_hash": facts.chat_template_hash,
                "epoch": facts.epoch,
            },
            "candidate": _candidate_json(facts.candidate),
            "stage": facts.stage,
            "stale": facts.is_stale,
            "baseline": facts.baseline.value,
            "modes": self._modes(default),
            "tool_call": self._tool_call(tools=bool(allowed)),
            "parallel": self._parallel(tools=bool(allowed)),
            "streaming": self._streaming(tools=bool(allowed)),
            "schema": self._schema(tools=bool(allowed)),
            "validation": self._validation(tools=bool(allowed)),
            "replay": self._replay(),
            "tool_choice": self._choices() if allowed else [],
            "risk": {
                "allowed": [risk.value for risk in allowed],
                "rules": [{"pattern": r.pattern, "risk": r.risk.value} for r in facts.rules],
                "defaults": VERSION,
            },
            "retry": {
                "max_retries": 1 if Mode.STRONG_VALIDATION in self.active else MAX_RETRIES,
                "on": list(RETRYABLE),
            },
            "reasons": self._reasons(default),
        }

    def _allowed_risks(self) -> tuple[Risk, ...]:
        """The allowed risk classes; none if no live tools are allowed."""
        if Mode.NO_TOOLS in self.active or self._format() == "none":
            return ()
        allowed = RISKS_BY_STAGE.get(self.facts.stage, ())
        if Mode.READ_ONLY_TOOLS in self.active:
            return tuple(risk for risk in allowed if risk is Risk.READ)
        return allowed

    def _format(self) -> str:
        value = self.facts.measured("tool_call_format")
        known = isinstance(value, str) and (value in FORMATS or value in _TEXT_FORMATS)
        return str(value) if known else "none"

    def _tool_call(self, *, tools: bool) -> dict[str, JSON]:
        parser = self.facts.measured("parser")
        return {
            "wire": _wire(self.facts.provider),
            "format": self._format() if tools else "none",
            "parser": parser if tools and isinstance(parser, str) else None,
        }

    def _parallel(self, *, tools: bool) -> dict[str, JSON]:
        can = self.facts.measured("supports_parallel_tool_use") is True
        allowed = tools and can and Mode.NO_PARALLEL not in self.active
        return {
            "allowed": allowed,
            "max_calls_per_turn": self._most_calls() if allowed else int(tools),
        }

    def _most_calls(self) -> int:
        """The largest number of calls that arrived right in one turn."""
        most = self.facts.measured("parallel_calls")
        return min(max(most, MIN_PARALLEL), MAX_CALLS) if isinstance(most, int) else MIN_PARALLEL

    def _streaming(self, *, tools: bool) -> dict[str, JSON]:
        can = self.facts.measured("supports_streaming_tool_use") is True
        return {"tools": tools and can and Mode.NO_STREAMING_TOOLS not in self.active, "text": True}

    def _schema(self, *, tools: bool) -> dict[str, JSON]:
        value = self.facts.measured("schema_level")
        level = (
            SCHEMA_LEVELS.index(value)
            if isinstance(value, str) and value in SCHEMA_LEVELS
            else _SIMPLE_LEVEL
        )
        if Mode.STRICT_SCHEMA in self.active:
            level = min(level, _SIMPLE_LEVEL)
        level = level if tools else 0
        return {"level": SCHEMA_LEVELS[level], "simplify": level <= _SIMPLE_LEVEL}

    def _validation(self, *, tools: bool) -> dict[str, JSON]:
        careful = {Mode.STRONG_VALIDATION, Mode.STRICT_SCHEMA} & self.active
        error_repair = self.facts.measured("error_repair")
        reasks = _REASKS.get(error_repair, 1) if isinstance(error_repair, str) else 1
        if Mode.STRONG_VALIDATION in self.active:
            reasks = min(reasks, 1)
        return {
            "required": True,
            "repairs_allowed": tools and not careful,
            "max_reasks": reasks if tools else 0,
        }

    def _replay(self) -> dict[str, JSON]:
        measured = self.facts.measured("reasoning_replay")
        keep = Mode.VERBATIM_HISTORY in self.active
        return {
            "rule": _replay_rule(self.facts, measured),
            # The dialect's default may be wrong, so no further change is made on top of it.
            "verbatim": keep or measured is None,
            "trim": not keep and self.facts.measured("trimmed_history") == "taken",
        }

    def _choices(self) -> list[str]:
        value = self.facts.measured("tool_choice")
        return [c for c in CHOICES if c in value] if isinstance(value, list | tuple) else []

    def _modes(self, default: Sequence[tuple[frozenset[Mode], str]]) -> dict[str, Any]:
        defaults = [(mode, reason) for modes, reason in default for mode in modes]
        return {
            "automatic": [
                {"mode": s.mode.value, "reason": s.reason, "incident": s.incident, "since": s.since}
                for s in _ordered(self.facts.all_automatic)
            ],
            "manual": [
                {
                    "mode": s.mode.value,
                    "reason": s.reason,
                    "author": s.author,
                    "since": s.since,
                    "expires_at": s.expires_at,
                }
                for s in _ordered(self.facts.manual)
            ],
            "default": [
                {"mode": mode.value, "reason": reason}
                for mode, reason in sorted(defaults, key=lambda pair: (_strength(pair[0]), pair[1]))
            ],
            "effective": [mode.value for mode in Mode if mode in self.active],
        }

    def _reasons(self, default: Sequence[tuple[frozenset[Mode], str]]) -> list[str]:
        stage = self.facts.stage
        reasons = [_STAGE_REASONS.get(stage, f"The stage {stage} allows no tools.")]
        is_split = self.facts.is_unsettled("tool_call_format")
        if self.facts.capabilities and self._format() == "none" and not is_split:
            reasons.append(_NO_FORMAT)
        reasons += [text for name, text in _UNSETTLED.items() if self.facts.is_unsettled(name)]
        reasons += [reason for _, reason in default]
        for switch in _ordered(self.facts.all_automatic):
            reasons.append(
                f"{switch.mode.value} is on by incident {switch.incident}: {switch.reason}"
            )
        for switch in _ordered(self.facts.manual):
            author = f" by {switch.author}" if switch.author else ""
            reasons.append(f"{switch.mode.value} was switched on{author}: {switch.reason}")
        return reasons


def _replay_rule(facts: PolicyFacts, measured: JSON) -> str:
    """Which reasoning is replayed: the measured rule, else the dialect's default."""
    try:
        dialect = dialect_for(Provider(facts.provider), facts.dialect)
    except (ValueError, TargetError):
        return "none"
    rule = measured if isinstance(measured, str) else None
    return override_dialect(dialect, {"reasoning_replay": rule}).replay.value


def _target(facts: PolicyFacts | Candidate) -> dict[str, JSON]:
    return {
        "provider": facts.provider,
        "model": facts.model,
        "url": facts.endpoint_url,
        "dialect": facts.dialect,
        "options": dict(facts.options),
    }


def _candidate_json(candidate: Candidate | None) -> dict[str, JSON] | None:
    if candidate is None:
        return None
    return {
        "epoch": candidate.epoch,
        "stage": candidate.stage,
        "target": _target(candidate),
        "changed_by": candidate.changed_by,
    }


def _wire(provider: str) -> str | None:
    try:
        return adapter_for(Provider(provider)).format
    except ValueError:
        return None


def _strength(mode: Mode) -> int:
    return list(Mode).index(mode)


def _ordered(switches: Sequence[ActiveMode]) -> list[ActiveMode]:
    return sorted(switches, key=lambda s: (_strength(s.mode), s.incident or 0, s.since, s.author))
