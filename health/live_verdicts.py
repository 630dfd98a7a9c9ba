"""The verdicts of one live exchange, with the denominators of the probes as far as they apply.

Live traffic does not say what was wanted: a turn counts for parse success if it has a call, shows
one, or was required to have one. Result use and value fidelity cannot be judged.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from probes.findings import FindingKind
from probes.messages import ModelCall, Reasoning, Role, Turn
from probes.outcomes import Metric, Verdict

_CLOSURE = frozenset(
    {
        FindingKind.CLOSURE_MISSING,
        FindingKind.CLOSURE_ORPHAN,
        FindingKind.CLOSURE_DUPLICATE,
        FindingKind.CLOSURE_ORDER,
        FindingKind.ID_FORMAT,
        FindingKind.ARGS_HISTORY,
    }
)
_REPLAY = frozenset(
    {
        FindingKind.REPLAY_MISSING,
        FindingKind.REPLAY_SIGNATURE_MISSING,
        FindingKind.REPLAY_SIGNATURE_BAD,
        FindingKind.REPLAY_PREFIX_BOUND,
        FindingKind.REPLAY_ITEM,
    }
)
# Kinds of blocked calls that could be read.
_READABLE = frozenset({"schema_mismatch", "unknown_tool", "not_allowed", "repair_not_allowed"})


@dataclass(frozen=True, slots=True)
class LiveTurn:
    """What was seen of one exchange. `refused` is None for an answer."""

    sent: ModelCall
    is_available: bool
    refused: FindingKind | None = None
    is_complete: bool = True
    passed: int = 0
    blocked: tuple[str, ...] = ()  # the kinds
    surplus: int = 0
    misses_required: bool = False
    shows_call: bool = False  # as text


def judge_live(turn: LiveTurn) -> list[Verdict]:
    """Every trial of the exchange. An endpoint that does not answer is only unavailable."""
    verdicts = [Verdict(Metric.AVAILABILITY, turn.is_available)]
    if turn.is_available:
        verdicts += _history_verdicts(turn)
        if turn.refused is None and turn.is_complete and turn.sent.tools:
            verdicts += _call_verdicts(turn)
    return verdicts


def _history_verdicts(turn: LiveTurn) -> Iterator[Verdict]:
    is_judged = turn.refused is None or turn.refused in _CLOSURE | _REPLAY
    if not is_judged or not any(each.calls for each in turn.sent.turns):
        return
    if turn.refused not in _REPLAY:
        yield Verdict(Metric.CLOSURE_ERROR, turn.refused not in _CLOSURE)
    if turn.refused not in _CLOSURE and any(map(_has_reasoned_call, turn.sent.turns)):
        yield Verdict(Metric.REASONING_REPLAY_ERROR, turn.refused not in _REPLAY)


def _call_verdicts(turn: LiveTurn) -> Iterator[Verdict]:
    unread = [kind for kind in turn.blocked if kind not in _READABLE]
    misfits = [kind for kind in turn.blocked if kind in ("schema_mismatch", "unknown_tool")]
    arrived = turn.passed + turn.surplus + len(turn.blocked)
    if arrived or turn.shows_call or turn.misses_required:
        is_read = bool(arrived) and not unread
        yield Verdict(Metric.PARSE_SUCCESS, is_read)
        yield Verdict(Metric.LEAK, not turn.shows_call)
    for good, count in ((True, turn.passed + turn.surplus), (False, len(misfits))):
        yield from [Verdict(Metric.SCHEMA_FAILURE, good)] * count
    for good, count in ((True, turn.passed), (False, len(turn.blocked))):
        yield from [Verdict(Metric.UNSAFE_BLOCKED, good)] * count
    if arrived > 1:
        yield Verdict(Metric.PARALLEL_DOWNGRADE, turn.surplus == 0)
    if _follows_error(turn.sent) and arrived:
        yield Verdict(Metric.REPAIR_SUCCESS, not turn.blocked)


def _has_reasoned_call(turn: Turn) -> bool:
    return bool(turn.calls) and any(isinstance(part, Reasoning) for part in turn.parts)


def _follows_error(call: ModelCall) -> bool:
    last = call.turns[-1:]
    return any(
        result.is_error for turn in last if turn.role is Role.TOOL for result in turn.results
    )
