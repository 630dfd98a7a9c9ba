"""Which reasoning is replayed, to which endpoint, in which form.

Reasoning is sent back verbatim or not at all. The name of its field may change; its text never
does. Nothing is invented, shortened or blanked: "" stays "" and absent stays absent.
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
    """The turns for one endpoint, what was dropped for it, and what was renamed."""

    turns: tuple[Turn, ...]
    losses: tuple[Loss, ...]
    changes: tuple[Change, ...]


@dataclass(frozen=True, slots=True)
class Receiver:
    """The endpoint that receives the turns.

    Turns of another `origin` are foreign; "" on either side is unknown. `has_tools`: the request
    offers tools. `prefix_changed`: something before the turns has changed since (system text,
    tools, trimmed history).
    """

    dialect: Dialect
    origin: str = ""
    has_tools: bool = False
    prefix_changed: bool = False


def replay_reasoning(turns: Sequence[Turn], receiver: Receiver) -> ReplayedTurns:
    """The turns with exactly the reasoning that the receiver's rule requires."""
    replay = _TurnReplay(receiver)
    first = _first_replayed(turns, receiver)
    replayed = [
        replay.turn(turn, index, in_range=index >= first) if turn.role is Role.ASSISTANT else turn
        for index, turn in enumerate(turns)
    ]
    return ReplayedTurns(tuple(replayed), tuple(replay.losses), tuple(replay.changes))


def missing_reasoning(turns: Sequence[Turn], receiver: Receiver) -> list[str]:
    """The paths of turns that a thinking receiver would refuse for lack of reasoning."""
    due = receiver.dialect.reasoning_due
    if due is ReasoningDue.NOWHERE:
        return []
    first = _first_replayed(turns, receiver)
    return [
        f"$.turns[{index}]"
        for index, turn in enumerate(turns)
        if turn.role is Role.ASSISTANT
        and index >= first
        and (turn.calls or due is ReasoningDue.TURNS)
        and not any(isinstance(part, Reasoning) for part in turn.parts)
    ]


def last_question(turns: Sequence[Turn]) -> int:
    """The index of the last turn with user content, or -1."""
    questions = (index for index in reversed(range(len(turns))) if is_question(turns[index]))
    return next(questions, -1)


def is_question(turn: Turn) -> bool:
    """Whether the turn has user content; results under the user role are none."""
    if turn.role is not Role.USER:
        return False
    return not turn.parts or any(not isinstance(part, ToolResult) for part in turn.parts)


def _first_replayed(turns: Sequence[Turn], receiver: Receiver) -> int:
    """The index of the first turn whose reasoning is replayed."""
    rule = receiver.dialect.replay
    if rule is ReplayRule.NONE:
        return len(turns)
    in_play = receiver.has_tools or any(turn.calls or turn.results for turn in turns)
    if rule is ReplayRule.SAME_TURN or (receiver.dialect.replay_needs_tools and not in_play):
        return last_question(turns) + 1
    return 0


@dataclass
class _TurnReplay:
    receiver: Receiver
    losses: list[Loss] = field(default_factory=list)
    changes: list[Change] = field(default_factory=list)

    def turn(self, turn: Turn, index: int, *, in_range: bool) -> Turn:
        path = f"$.turns[{index}]"
        foreign = bool(self.receiver.origin and turn.origin and turn.origin != self.receiver.origin)
        parts = list(self.parts(turn, path, in_range=in_range, foreign=foreign))
        if self.receiver.dialect.replay is ReplayRule.ITEM_PAIR:
            parts = self.pair_items(parts, turn, path, foreign=foreign)
        if self.receiver.dialect.sentinel and turn.calls:
            parts = self.sign_calls(parts, turn, path)
        return turn if tuple(parts) == turn.parts else replace(turn, parts=tuple(parts))

    def parts(self, turn: Turn, path: str, *, in_range: bool, foreign: bool) -> Iterator[Part]:
        whole = self.is_whole(turn)
        for index, part in enumerate(turn.parts):
            at = f"{path}.parts[{index}]"
            if isinstance(part, Opaque) and foreign:
                self.record_loss(LossKind.OPAQUE, at, "Only its issuer understands this block.")
            elif not isinstance(part, Reasoning):
                yield self.strip_foreign(part, at) if foreign else part
            elif not in_range:
                rule = str(self.receiver.dialect.replay)
                self.record_loss(
                    LossKind.REASONING, at, f"The rule {rule!r} does not send it back."
                )
            else:
                yield from self.reasoning(part, at, foreign=foreign, whole=whole)

    def is_whole(self, turn: Turn) -> bool:
        """Whether the signed blocks of a turn may be replayed: all of them, or none."""
        if self.receiver.prefix_changed and self.receiver.dialect.prefix_bound:
            return False
        blocks = [part for part in turn.parts if _is_block(part)]
        return all(isinstance(block, Reasoning) and is_signed(block) for block in blocks)

    def reasoning(self, part: Reasoning, at: str, *, foreign: bool, whole: bool) -> Iterator[Part]:
        dialect = self.receiver.dialect
        carried = part.kind in dialect.carried_kinds
        if part.kind is ReasoningKind.FIELD and carried:
            yield self.rename_field(part, at)
        elif carried and not foreign and self.may_return(part, whole=whole):
            yield part
        elif self.takes_field and (text := _replayable_text(part, foreign=foreign)) is not None:
            yield self.as_field(part, text, at)
        elif is_signed(part):
            self.record_loss(
                LossKind.SIGNATURE, at, "Only its issuer understands this signed block."
            )
        else:
            message = f"Reasoning of the kind {str(part.kind)!r} has no place at {dialect.name!r}."
            self.record_loss(LossKind.REASONING, at, message)

    @property
    def takes_field(self) -> bool:
        dialect = self.receiver.dialect
        return dialect.block_to_field and ReasoningKind.FIELD in dialect.carried_kinds

    def may_return(self, part: Reasoning, *, whole: bool) -> bool:
        # A broken stream leaves a block without a signature, which would be refused; and a message
        # must have all of its blocks or none.
        needs_signature = self.receiver.dialect.replay is ReplayRule.SIGNATURE
        return not needs_signature or not _is_block(part) or whole

    def rename_field(self, part: Reasoning, at: str) -> Reasoning:
        name = self.receiver.dialect.reasoning_field
        if name is None or part.raw == name:
            return part
        message = f"The field {part.raw!r} is called {name!r} here."
        self.changes.append(Change(ChangeKind.REASONING_RENAMED, message, at))
        return replace(part, raw=name)

    def as_field(self, part: Reasoning, text: str, at: str) -> Reasoning:
        name = self.receiver.dialect.reasoning_field or "reasoning_content"
        if is_signed(part):
            self.record_loss(
                LossKind.SIGNATURE, at, f"{name!r} carries the text without its signature."
            )
        message = f"The text of the reasoning goes back as {name!r}."
        self.changes.append(Change(ChangeKind.REASONING_CONVERTED, message, at))
        return Reasoning(text, ReasoningKind.FIELD, name)

    def strip_foreign(self, part: Part, at: str) -> Part:
        """The part of a foreign turn without signatures and other fields of its issuer."""
        bare = without_own_fields(part)
        if bare is not part:
            kind = LossKind.SIGNATURE if has_signature(part) else LossKind.EXTRA
            self.record_loss(kind, at, "Fields of another endpoint are left out.")
        return bare

    def pair_items(self, parts: list[Part], turn: Turn, path: str, *, foreign: bool) -> list[Part]:
        """A reasoning item with its call, or the call without the id that refers to the item."""
        remaining = drop_lone_items(parts, path, self.losses)
        lost = sum(map(is_item, remaining)) < sum(map(is_item, turn.parts))
        return without_item_ids(remaining, path, self.changes) if foreign or lost else remaining

    def sign_calls(self, parts: list[Part], turn: Turn, path: str) -> list[Part]:
        """Give unsigned calls that the receiver did not make its sentinel."""
        place = next(index for index, part in enumerate(parts) if isinstance(part, ToolCall))
        call = parts[place]
        assert isinstance(call, ToolCall)
        own = (
            bool(self.receiver.origin) and turn.origin == self.receiver.origin and _is_native(call)
        )
        if own or any(is_signed_part(part) for part in parts):
            return parts
        message = f"The call {call.id!r} was made elsewhere and goes under the sentinel."
        at = f"{path}.parts[{place}]"
        self.changes.append(Change(ChangeKind.SIGNATURE_SENTINEL, message, at))
        return [
            *parts[:place],
            with_sentinel(call, self.receiver.dialect.sentinel),
            *parts[place + 1 :],
        ]

    def record_loss(self, kind: LossKind, at: str, message: str) -> None:
        self.losses.append(Loss(kind, at, message))


def _is_block(part: Part) -> bool:
    return isinstance(part, Reasoning) and part.kind is ReasoningKind.BLOCK


def _is_native(call: ToolCall) -> bool:
    """Whether a call is as received: not found in text, not a replacement for a broken one."""
    return call.format == FORMAT and IN_HISTORY not in call.repairs


def _replayable_text(part: Reasoning, *, foreign: bool) -> str | None:
    """The reasoning itself; None if it was redacted, or only a summary of it was shown."""
    match part:
        case Reasoning(kind=ReasoningKind.BLOCK, raw={"thinking": _}):
            return part.text
        case Reasoning(kind=ReasoningKind.ITEM, raw={"content": [_, *_] as entries}):
            texts = [entry.get("text") for entry in entries if isinstance(entry, Mapping)]
            return "".join(text for text in texts if isinstance(text, str))
        case Reasoning(kind=ReasoningKind.THOUGHT) if part.text and not foreign:
            # Gemini itself shows summaries; this is what the receiver said to a client of Gemini's.
            return part.text
        case _:
            return None
