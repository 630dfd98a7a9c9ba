"""Pairs results with calls.

Ids alone are not enough: vendors number calls anew in every round, and some give one id to every
call. So calls are armed in order, and each result consumes the first armed call with its id, first
in the block that it follows, then further back.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from probes.messages import BrokenCall, Role, ToolCall, ToolResult, Turn


class PartRef(NamedTuple):
    """The position of a part: its turn, and its index in the turn."""

    turn: int
    part: int

    @property
    def path(self) -> str:
        return f"$.turns[{self.turn}].parts[{self.part}]"


@dataclass(frozen=True, slots=True)
class ResultPairs:
    """Every call with its result, and what remained unpaired."""

    adjacent: dict[PartRef, PartRef] = field(
        default_factory=dict
    )  # call -> result, in its right place
    moved: dict[PartRef, PartRef] = field(default_factory=dict)  # call -> result, elsewhere
    missing: list[PartRef] = field(default_factory=list)  # calls
    orphans: list[PartRef] = field(default_factory=list)  # results
    duplicates: list[PartRef] = field(default_factory=list)  # results


def pair_results(turns: Sequence[Turn]) -> ResultPairs:
    """Pair results with calls by position, then by id. Linear in the number of parts."""
    pairing = _Pairing(turns)
    for index, turn in enumerate(turns):
        if turn.role is Role.ASSISTANT:
            pairing.open_block(index)
        pairing.read_results(index)
        if not _keeps_block_open(turn):
            pairing.close_block()
    pairing.close_block()
    pairing.pair_strays()
    return pairing.pairs


def answerable_calls(turn: Turn) -> Iterator[tuple[int, ToolCall | BrokenCall]]:
    """The calls of an assistant turn that a result can answer, including broken ones."""
    if turn.role is Role.ASSISTANT:
        for index, part in enumerate(turn.parts):
            if isinstance(part, ToolCall) or (isinstance(part, BrokenCall) and part.name):
                yield index, part


def _keeps_block_open(turn: Turn) -> bool:
    """Whether results in the next turn still directly follow their calls."""
    if turn.role is Role.ASSISTANT:
        return True
    if not turn.parts:
        return turn.role is Role.TOOL
    return all(isinstance(part, ToolResult) for part in turn.parts)


class _Pairing:
    def __init__(self, turns: Sequence[Turn]) -> None:
        self.turns = turns
        self.pairs = ResultPairs()
        self.first_calls: dict[str, PartRef] = {}
        self.armed: dict[str, deque[PartRef]] = {}
        self.unanswered: dict[str, list[PartRef]] = defaultdict(list)
        self.strays: dict[str, list[PartRef]] = defaultdict(list)

    def open_block(self, index: int) -> None:
        self.close_block()
        for part, call in answerable_calls(self.turns[index]):
            ref = PartRef(index, part)
            self.armed.setdefault(call.id, deque()).append(ref)
            self.first_calls.setdefault(call.id, ref)

    def close_block(self) -> None:
        for id_, refs in self.armed.items():
            self.unanswered[id_].extend(refs)
        self.armed = {}

    def read_results(self, index: int) -> None:
        turn = self.turns[index]
        in_place = turn.role is not Role.ASSISTANT
        for part, value in enumerate(turn.parts):
            if isinstance(value, ToolResult):
                self.read_result(PartRef(index, part), value.call_id, in_place=in_place)
            else:
                # A result after text answers the right call in the wrong place.
                in_place = False

    def read_result(self, ref: PartRef, id_: str, *, in_place: bool) -> None:
        armed = self.armed.get(id_)
        if armed:
            (self.pairs.adjacent if in_place else self.pairs.moved)[armed.popleft()] = ref
        elif armed is not None:
            self.pairs.duplicates.append(ref)
        else:
            self.strays[id_].append(ref)

    def pair_strays(self) -> None:
        """Pair each misplaced result with the nearest earlier block that has an open call."""
        for id_, results in self.strays.items():
            calls = deque(self.unanswered[id_])
            blocks: list[deque[PartRef]] = []
            early: list[PartRef] = []
            for ref in results:
                while calls and calls[0] < ref:
                    _add_to_blocks(blocks, calls.popleft())
                if blocks:
                    self.pairs.moved[_pop_call(blocks)] = ref
                else:
                    early.append(ref)
            self.unanswered[id_] = [*(call for block in blocks for call in block), *calls]
            self.pair_early(id_, early)
        self.pairs.missing.extend(sorted(ref for refs in self.unanswered.values() for ref in refs))

    def pair_early(self, id_: str, early: list[PartRef]) -> None:
        """Pair a result with a later call, if the id is unambiguous.

        With repeated ids, such a result more likely belongs to a round that was cut away, and a
        call must never get the result of another.
        """
        waiting = self.unanswered[id_]
        is_plain = id_ and len(early) == 1 and waiting == [self.first_calls.get(id_)]
        if is_plain and len(self.strays[id_]) == 1:
            self.pairs.moved[waiting.pop()] = early.pop()
        for ref in early:
            first = self.first_calls.get(id_)
            known = first is not None and first < ref
            (self.pairs.duplicates if known else self.pairs.orphans).append(ref)


def _add_to_blocks(blocks: list[deque[PartRef]], call: PartRef) -> None:
    if blocks and blocks[-1][0].turn == call.turn:
        blocks[-1].append(call)
    else:
        blocks.append(deque([call]))


def _pop_call(blocks: list[deque[PartRef]]) -> PartRef:
    """The first open call of the last block."""
    call = blocks[-1].popleft()
    if not blocks[-1]:
        blocks.pop()
    return call
