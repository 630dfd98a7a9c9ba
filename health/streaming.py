"""Whether tool calls can be streamed: streamed turns judged beside whole ones of the same run.

A model that errs at times errs both ways, and an endpoint that cannot nest objects cannot nest them
in a stream either. So the share of bad whole turns is taken off, and a lost or garbled call counts
only beside a whole turn of the same probe that works.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from health.capability import CLEAR_MAJORITY, UNKNOWN, UNSETTLED
from probes.adapters import FORMATS
from probes.messages import JSON
from probes.outcomes import Attempt, FindingKind, Outcome
from probes.suite.turn_judge import Arrival

_KNOWN = frozenset(arrival.value for arrival in Arrival)
_VALUES = {Arrival.BROKEN_OFF: Arrival.LOSES_CALLS}
# Faults that a model or a schema can explain.
_EXPLAINABLE = (Arrival.GARBLES, Arrival.LOSES_CALLS)


@dataclass(frozen=True, slots=True)
class StreamedTurn:
    """One turn and how its calls arrived."""

    attempt: Attempt
    arrival: str

    @property
    def works(self) -> bool:
        return self.arrival == Arrival.WORKS


@dataclass(frozen=True, slots=True)
class StreamingResult:
    """The value, the turns that it was derived from, and those of them that agree."""

    value: str
    turns: Sequence[StreamedTurn] = ()

    @property
    def agreeing(self) -> list[StreamedTurn]:
        if self.value == UNSETTLED:
            return [turn for turn in self.turns if turn.works]
        return [turn for turn in self.turns if turn.works == (self.value == Arrival.WORKS)]

    @property
    def counts(self) -> dict[str, JSON]:
        return dict(Counter(turn.arrival for turn in self.turns))


def derive_streaming(attempts: Sequence[Attempt], parser: str | None) -> StreamingResult:
    """Derive from the pairs of the streaming probe and from all other streamed turns."""
    pairs = _read_pairs(attempts, parser)
    others = [attempt for attempt in attempts if "streams" not in attempt.facts]
    pooled = _comparable_turns(others, parser)
    values = (_settle_pooled(pooled, _whole_turns(others, parser)), _settle_pairs(pairs))
    turns = [*pairs, *pooled]
    if failing := [value for value in values if value not in (Arrival.WORKS, UNKNOWN, UNSETTLED)]:
        return StreamingResult(_settle_single(failing[0], pairs, pooled), turns)
    for value in (UNSETTLED, Arrival.WORKS):
        if value in values:
            return StreamingResult(value, turns)
    return StreamingResult(UNKNOWN)


def _settle_single(
    value: str, pairs: Sequence[StreamedTurn], pooled: Sequence[StreamedTurn]
) -> str:
    """One failure alone does not settle what other turns contradict."""
    bad = sum(not turn.works for turn in (*pairs, *pooled))
    return UNSETTLED if bad == 1 and len(pairs) + len(pooled) > 1 else value


def _settle_pairs(pairs: Sequence[StreamedTurn]) -> str:
    return _settle(pairs, 0)


def _settle_pooled(streamed: Sequence[StreamedTurn], whole: Sequence[StreamedTurn]) -> str:
    usual = sum(not turn.works for turn in whole) / len(whole) if whole else 0
    if usual > 0.5 and not all(turn.works for turn in streamed):
        # Whole answers mostly fail as well, so nothing follows for streams.
        return UNKNOWN
    return _settle(streamed, usual)


def _settle(turns: Sequence[StreamedTurn], usual: float) -> str:
    """The value of most turns, where `usual` is the share of failures that whole turns have."""
    if not turns:
        return UNKNOWN
    bad = [turn.arrival for turn in turns if not turn.works]
    excess = (len(bad) / len(turns) - usual) / (1 - usual)
    if excess <= 1 - CLEAR_MAJORITY:
        return Arrival.WORKS
    if excess < CLEAR_MAJORITY:
        return UNSETTLED
    return Counter(bad).most_common(1)[0][0]


def _read_pairs(attempts: Iterable[Attempt], parser: str | None) -> list[StreamedTurn]:
    """The streamed side of each pair whose whole side allows a comparison."""
    pairs = []
    for attempt in attempts:
        if isinstance(streams := attempt.facts.get("streams"), bool):
            arrivals = _arrivals(attempt, "streamed", parser)
            failure = arrivals[0] if arrivals and arrivals[0] != Arrival.WORKS else None
            if streams and failure and _leaks(attempt, parser):
                # Both sides leak alike, so the stream loses nothing, and it does not work either.
                continue
            value = Arrival.WORKS if streams else failure or Arrival.LOSES_CALLS
            pairs.append(StreamedTurn(attempt, value))
    return pairs


def _leaks(attempt: Attempt, parser: str | None) -> bool:
    """Whether a call came in the text, in another format than the endpoint's usual one."""
    formats = attempt.facts.get("formats")
    seen = formats if isinstance(formats, list | tuple) else ()
    return any(form and form != parser and form not in FORMATS for form in seen)


def _comparable_turns(attempts: Sequence[Attempt], parser: str | None) -> list[StreamedTurn]:
    working = {
        attempt.probe
        for attempt in attempts
        if Arrival.WORKS in _arrivals(attempt, "whole", parser)
    }
    return [
        StreamedTurn(attempt, arrival)
        for attempt in attempts
        for raw in _raw_arrivals(attempt, "streamed")
        if (arrival := _normalise(raw, parser)) not in _EXPLAINABLE
        or raw == Arrival.BROKEN_OFF
        or attempt.probe in working
    ]


def _whole_turns(attempts: Iterable[Attempt], parser: str | None) -> list[StreamedTurn]:
    return [
        StreamedTurn(attempt, arrival)
        for attempt in attempts
        for arrival in _arrivals(attempt, "whole", parser)
    ]


def _arrivals(attempt: Attempt, side: str, parser: str | None) -> list[str]:
    return [_normalise(arrival, parser) for arrival in _raw_arrivals(attempt, side)]


def _raw_arrivals(attempt: Attempt, side: str) -> list[str]:
    turns = attempt.facts.get("turns")
    if not isinstance(turns, Mapping):
        is_cut = any(finding.kind is FindingKind.BROKEN_OFF for finding in attempt.findings)
        # A whole answer that was cut off leaves no fact.
        is_whole = side == "whole" and attempt.outcome is Outcome.VOID
        return [Arrival.BROKEN_OFF] if is_cut and is_whole else []
    seen = turns.get(side)
    return [str(arrival) for arrival in seen] if isinstance(seen, list | tuple) else []


def _normalise(arrival: str, parser: str | None) -> str:
    """A value of the profile; calls in the endpoint's usual text format work."""
    if parser and arrival == parser:
        return Arrival.WORKS
    if arrival not in _KNOWN:
        # The name of a parser.
        return Arrival.LEAKS
    return _VALUES.get(Arrival(arrival), Arrival(arrival))
