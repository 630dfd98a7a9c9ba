"""One field of the capability profile, and when trials settle it.

A value is settled if at least nine of ten trials agree; with fewer than ten trials, all of them.
Below that the field is unsettled: a majority would hide what a caller meets every few calls.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from health.rates import rate_interval
from probes.messages import JSON
from probes.outcomes import Attempt

UNKNOWN: Final = "unknown"
UNSETTLED: Final = "unsettled"
# At least this share of the trials must agree.
CLEAR_MAJORITY = 0.9


@dataclass(frozen=True, slots=True)
class Capability:
    """One field of the profile. `agree` of `trials` trials have this value; evidence: attempts.

    An unsettled field has the most common value's trials in `agree`.
    """

    value: JSON
    trials: int = 0
    agree: int = 0
    evidence: tuple[str, ...] = ()
    # The number of trials per value, where they differ.
    counts: Mapping[str, JSON] = field(default_factory=dict)
    # The trials contradict each other: the value is "unsettled", or None for yes and no.
    unsettled: bool = False

    def as_json(self) -> dict[str, JSON]:
        low, high = rate_interval(self.agree, self.trials) if self.trials else (None, None)
        more: dict[str, JSON] = {"counts": dict(self.counts)} if self.counts else {}
        return {
            **more,
            **({"unsettled": True} if self.unsettled else {}),
            "value": self.value,
            "trials": self.trials,
            "agree": self.agree,
            "low": low,
            "high": high,
            "evidence": list(self.evidence),
        }


def settle_values(
    seen: Sequence[tuple[Attempt, JSON]], *, unknown: JSON = UNKNOWN, unsettled: JSON = UNSETTLED
) -> Capability:
    """The value of a clear majority of the attempts."""
    if not seen:
        return Capability(unknown)
    names = Counter(value_name(value) for _, value in seen)
    name, agree = names.most_common(1)[0]
    agreeing = [(attempt, value) for attempt, value in seen if value_name(value) == name]
    counts = dict(names) if len(names) > 1 else {}
    if is_clear(agree, len(seen)):
        evidence = attempt_ids(attempt for attempt, _ in agreeing)
        return Capability(agreeing[0][1], len(seen), agree, evidence, counts)
    evidence = attempt_ids(attempt for attempt, _ in seen)
    return Capability(unsettled, len(seen), agree, evidence, counts, unsettled=True)


def settle_booleans(seen: Sequence[tuple[Attempt, bool]]) -> Capability:
    """Yes or no; None if there are no trials, or if they differ too much."""
    return settle_values(seen, unknown=None, unsettled=None)


def is_clear(agree: int, trials: int) -> bool:
    return agree >= CLEAR_MAJORITY * trials


def value_name(value: JSON) -> str:
    """A value as a name for its count."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return value if isinstance(value, str) else repr(value)


def attempt_ids(attempts: Iterable[Attempt]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(f"{attempt.probe}/{attempt.trial}" for attempt in attempts))
