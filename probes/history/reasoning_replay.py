"""Which reasoning goes back, to whom, in which shape.

What was received is sent back verbatim or not at all. The name of a field may change, because it
is naming; the text never does. Nothing is invented, shortened or blanked: "" stays "" and what
was absent stays absent.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from probes.dialects.base import Dialect, ReasoningDue, ReplayRule
from probes.history.call_closure import IN_HISTORY
from probes.history.item_pairs import drop_lone_items, is_item, without_item_ids
from probes.history.request_changes import Change, ChangeKind
from probes.history.signatures import (
    FORMAT,
    has_signature,
    is_signed,
    is_signed_part,
    with_sentinel,
    without_own_fields,
)
from probes.losses import Loss, LossKind
from probes.messages import (
    Opaque,
    Part,
    Reasoning,
    ReasoningKind,
    Role,
    ToolCall,
    ToolResult,
    Turn,
)


@dataclass(frozen=True, slots=True)
class ReplayedTurns:
    """The turns as one endpoint may get them; what it may not get, and what was renamed."""

    turns: tuple[Turn, ...]
    losses: tuple[Loss, ...]
    changes: tuple[Change, ...]


@dataclass(frozen=True, slots=True)
class Receiver:
    """Whom the turns go to. Turns of another `origin` are foreign; "" on either side is unknown.

    `has_tools`: the request offers tools. `prefix_changed`: something before the turns is not as
    it was when they were made (system text, tools, trimmed history).
    """

    dialect: Dialect
    origin: str = ""
    has_tools: bool = False
    prefix_changed: bool = False


def replay_reasoning(turns: Sequence[Turn], to: Receiver) -> ReplayedTurns:
    """The turns with the reasoning that the receiver's rule wants, and no other."""
    replaying = _TurnReplay(to)
    first = _first_wanted(turns, to)
    replayed = [
        replaying.turn(turn, index, wanted=index >= first) if turn.role is Role.ASSISTANT else turn
        for index, turn in enumerate(turns)
    ]
    return ReplayedTurns(tuple(replayed), tuple(replaying.losses), tuple(replaying.changes))


def missing_reasoning(turns: Sequence[Turn], to: Receiver) -> list[str]:
    """The paths of turns that a thinking receiver would refuse for want of their reasoning."""
    due = to.dialect.reasoning_due
    if due is ReasoningDue.NOWHERE:
        return []
    first = _first_wanted(turns, to)
    return [
        f"$.turns[{index}]"
        for index, turn in enumerate(turns)
        if turn.role is Role.ASSISTANT
        and index >= first
        and (turn.calls or due is ReasoningDue.TURNS)
        and not any(isinstance(part, Reasoning) for part in turn.parts)
    ]


def last_question(turns: Sequence[Turn]) -> int:
    """The index of the last turn in which a user said something, or -1."""
    questions = (index for index in reversed(range(len(turns))) if is_question(turns[index]))
    return next(questions, -1)


def is_question(turn: Turn) -> bool:
    """Whether a user speaks; results under the user's role are no question."""
    if turn.role is not Role.USER:
        return False
    return not turn.parts or any(not isinstance(part, ToolResult) for part in turn.parts)


def _first_wanted(turns: Sequence[Turn], to: Receiver) -> int:
    """The index from which on reasoning goes back."""
    rule = to.dialect.replay
    if rule is ReplayRule.NONE:
        return len(turns)
    in_play = to.has_tools or any(turn.calls or turn.results for turn in turns)
    if rule is ReplayRule.SAME_TURN or (to.dialect.replay_needs_tools and not in_play):
        return last_question(turns) + 1
    return 0


@dataclass
class _TurnReplay:
    to: Receiver
    losses: list[Loss] = field(default_factory=list)
    changes: list[Change] = field(default_factory=list)

    def turn(self, turn: Turn, index: int, *, wanted: bool) -> Turn:
        path = f"$.turns[{index}]"
        foreign = bool(self.to.origin and turn.origin and turn.origin != self.to.origin)
        parts = list(self.parts(turn, path, wanted=wanted, foreign=foreign))
        if self.to.dialect.replay is ReplayRule.ITEM_PAIR:
            parts = self.paired_items(parts, turn, path, foreign=foreign)
        if self.to.dialect.sentinel and turn.calls:
            parts = self.signed_calls(parts, turn, path)
        return turn if tuple(parts) == turn.parts else replace(turn, parts=tuple(parts))

    def parts(self, turn: Turn, path: str, *, wanted: bool, foreign: bool) -> Iterator[Part]:
        whole = self.is_whole(turn)
        for index, part in enumerate(turn.parts):
            at = f"{path}.parts[{index}]"
            if isinstance(part, Opaque) and foreign:
                self.lose(LossKind.OPAQUE, at, "Only its issuer understands this block.")
            elif not isinstance(part, Reasoning):
                yield self.bare(part, at) if foreign else part
            elif not wanted:
                rule = str(self.to.dialect.replay)
                self.lose(LossKind.REASONING, at, f"The rule {rule!r} does not send it back.")
            else:
                yield from self.reasoning(part, at, foreign=foreign, whole=whole)

    def is_whole(self, turn: Turn) -> bool:
        """Whether the signed blocks of a turn may go back: all of them, or none."""
        if self.to.prefix_changed and self.to.dialect.prefix_bound:
            return False
        blocks = [part for part in turn.parts if _is_block(part)]
        return all(isinstance(block, Reasoning) and is_signed(block) for block in blocks)

    def reasoning(self, part: Reasoning, at: str, *, foreign: bool, whole: bool) -> Iterator[Part]:
        dialect = self.to.dialect
        carried = part.kind in dialect.carries
        if part.kind is ReasoningKind.FIELD and carried:
            yield self.named(part, at)
        elif carried and not foreign and self.may_return(part, whole=whole):
            yield part
        elif _has_text(part) and dialect.block_to_field:
            yield self.as_field(part, at)
        elif is_signed(part):
            self.lose(LossKind.SIGNATURE, at, "Only its issuer understands this signed block.")
        else:
            message = f"Reasoning of the kind {str(part.kind)!r} has no place at {dialect.name!r}."
            self.lose(LossKind.REASONING, at, message)

    def may_return(self, part: Reasoning, *, whole: bool) -> bool:
        # A stream that broke off leaves a block without signature, which would be refused; and
        # a message must have all of its blocks or none.
        needs_signature = self.to.dialect.replay is ReplayRule.SIGNATURE
        return not needs_signature or not _is_block(part) or whole

    def named(self, part: Reasoning, at: str) -> Reasoning:
        name = self.to.dialect.reasoning_field
        if name is None or part.raw == name:
            return part
        message = f"The field {part.raw!r} is called {name!r} here."
        self.changes.append(Change(ChangeKind.REASONING_RENAMED, message, at))
        return replace(part, raw=name)

    def as_field(self, part: Reasoning, at: str) -> Reasoning:
        name = self.to.dialect.reasoning_field or "reasoning_content"
        if is_signed(part):
            self.lose(LossKind.SIGNATURE, at, f"{name!r} carries the text without its signature.")
        message = f"The text of a thinking block goes back as {name!r}."
        self.changes.append(Change(ChangeKind.REASONING_CONVERTED, message, at))
        return Reasoning(part.text, ReasoningKind.FIELD, name)

    def bare(self, part: Part, at: str) -> Part:
        """The part of a foreign turn: signatures and other fields of its issuer stay behind."""
        bare = without_own_fields(part)
        if bare is not part:
            kind = LossKind.SIGNATURE if has_signature(part) else LossKind.EXTRA
            self.lose(kind, at, "Fields of another endpoint are left out.")
        return bare

    def paired_items(
        self, parts: list[Part], turn: Turn, path: str, *, foreign: bool
    ) -> list[Part]:
        """A reasoning item with its call, or the call without the id that asks for the item."""
        kept = drop_lone_items(parts, path, self.losses)
        lost = sum(map(is_item, kept)) < sum(map(is_item, turn.parts))
        return without_item_ids(kept, path, self.changes) if foreign or lost else kept

    def signed_calls(self, parts: list[Part], turn: Turn, path: str) -> list[Part]:
        """Calls that the receiver did not make get its sentinel, where no signature is there."""
        place = next(index for index, part in enumerate(parts) if isinstance(part, ToolCall))
        call = parts[place]
        assert isinstance(call, ToolCall)
        own = bool(self.to.origin) and turn.origin == self.to.origin and _is_native(call)
        if own or any(is_signed_part(part) for part in parts):
            return parts
        message = f"The call {call.id!r} was made elsewhere and goes under the sentinel."
        at = f"{path}.parts[{place}]"
        self.changes.append(Change(ChangeKind.SIGNATURE_SENTINEL, message, at))
        return [*parts[:place], with_sentinel(call, self.to.dialect.sentinel), *parts[place + 1 :]]

    def lose(self, kind: LossKind, at: str, message: str) -> None:
        self.losses.append(Loss(kind, at, message))


def _is_block(part: Part) -> bool:
    return isinstance(part, Reasoning) and part.kind is ReasoningKind.BLOCK


def _is_native(call: ToolCall) -> bool:
    """Whether a call is as the endpoint gave it: not found in text, not put in for a broken one."""
    return call.format == FORMAT and IN_HISTORY not in call.repairs


def _has_text(part: Reasoning) -> bool:
    """Whether a block says something in words; a redacted one does not."""
    raw = part.raw
    return part.kind is ReasoningKind.BLOCK and isinstance(raw, Mapping) and "thinking" in raw
