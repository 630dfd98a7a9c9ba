"""Which dialect an endpoint seems to speak, from what was measured. A person decides on it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from health.translation import mark, say
from probes.dialects import dialect_for
from probes.messages import JSON
from probes.outcomes import FindingKind
from probes.target import Provider

# Fewer trials of a capability say too little.
_MIN_TRIALS = 2


@dataclass(frozen=True, slots=True)
class DialectSuggestion:
    """A dialect that fits better than the one in use, and why."""

    dialect: str
    reason: str

    def as_json(self) -> dict[str, JSON]:
        return {"dialect": self.dialect, "reason": self.reason}


@dataclass(frozen=True, slots=True)
class _Rule:
    """What an endpoint asked in one dialect shows only if it speaks the other one."""

    spoken: str
    suggested: str
    reason: str
    finding: FindingKind | None = None
    replay: str = ""


_RULES = (
    _Rule(
        "openai",
        "openai_reasoning",
        mark(
            "It refuses function tools unless reasoning_effort is none, which this dialect sends."
        ),
        finding=FindingKind.ENDPOINT_MISMATCH,
    ),
    _Rule(
        "anthropic",
        "anthropic_bound",
        mark("It refuses thinking blocks after any change before them, which this dialect avoids."),
        finding=FindingKind.REPLAY_PREFIX_BOUND,
    ),
    _Rule(
        "deepseek",
        "deepseek_v32",
        mark("It requires the reasoning of the current turn only, as V3.2 did."),
        replay="required_same_turn",
    ),
)


def suggest_dialect(
    provider: str,
    dialect: str,
    *,
    findings: Collection[str],
    capabilities: Mapping[str, Mapping[str, JSON]],
) -> DialectSuggestion | None:
    """The dialect to choose instead, if what was measured leaves no doubt; nothing is switched.

    `capabilities` has the JSON form of a profile.
    """
    spoken = dialect_for(Provider(provider), dialect).name
    replay = _unanimous(capabilities.get("reasoning_replay", {}))
    for rule in _RULES:
        is_seen = rule.finding in findings if rule.finding else rule.replay == replay
        if rule.spoken == spoken and is_seen:
            return DialectSuggestion(rule.suggested, say(rule.reason))
    return None


def _unanimous(capability: Mapping[str, JSON]) -> JSON:
    """The value of a capability on which all of its trials agree, else None."""
    trials = capability.get("trials")
    is_settled = isinstance(trials, int) and trials >= _MIN_TRIALS
    return capability.get("value") if is_settled and capability.get("agree") == trials else None
