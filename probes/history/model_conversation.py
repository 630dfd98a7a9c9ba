"""A conversation with a model: stored as it happened, sent in the form the endpoint accepts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from probes.dialects.apply import apply_dialect, is_thinking
from probes.dialects.base import Dialect
from probes.errors import HistoryError, WireError
from probes.findings import Finding
from probes.history.call_closure import check_closure, repair_closure
from probes.history.pairing import PartRef, pair_results
from probes.history.reasoning_replay import Receiver, missing_reasoning, replay_reasoning
from probes.history.request_changes import Change, ChangeKind
from probes.history.trimming import TrimBudget, trim_turns
from probes.losses import Loss, LossKind
from probes.messages import (
    JSON,
    BrokenCall,
    ModelCall,
    Part,
    Reply,
    Role,
    Text,
    ToolCall,
    ToolResult,
    Turn,
)
from probes.resolve.call_ids import RULES, IdMap, IdWalk
from probes.serialise import turns_from_json, turns_to_json

VERSION = 1


@dataclass(frozen=True, slots=True)
class SendOptions:
    """To which endpoint and how a conversation is sent.

    `origin` names the endpoint: turns of another origin are foreign to it. `repair` closes the
    history instead of raising an error. `prefix_changed` means that system text or tools differ
    from those at the time of the turns.
    """

    dialect: Dialect
    origin: str = ""
    thinking: bool | None = None
    repair: bool = False
    budget: TrimBudget | None = None
    prefix_changed: bool = False


@dataclass(frozen=True, slots=True)
class PreparedCall:
    """A question ready for an adapter, every change to it, and what the endpoint will not see."""

    call: ModelCall
    changes: tuple[Change, ...]
    losses: tuple[Loss, ...]


@dataclass
class Conversation:
    """Turns as they happened: one assistant turn per answer, followed by turns with results."""

    turns: list[Turn] = field(default_factory=list)
    _ids: dict[str, IdMap] = field(default_factory=dict)

    def add_system(self, text: str) -> None:
        self.turns.append(Turn(Role.SYSTEM, (Text(text),)))

    def add_user(self, *parts: Part | str) -> None:
        content = tuple(Text(part) if isinstance(part, str) else part for part in parts)
        self.turns.append(Turn(Role.USER, content))

    def add_reply(self, reply: Reply, origin: str = "") -> None:
        """Store a whole answer: text, calls and reasoning in the order received."""
        self.turns.append(reply.as_turn(origin))

    def add_results(self, results: Iterable[ToolResult]) -> None:
        self.turns.append(Turn(Role.TOOL, tuple(results)))

    @property
    def pending(self) -> tuple[ToolCall | BrokenCall, ...]:
        """The calls without a result, in order."""
        return tuple(_call(self.turns, ref) for ref in pair_results(self.turns).missing)

    def check(self) -> list[Finding]:
        """Everything in this conversation that an endpoint would refuse."""
        return check_closure(self.turns)

    def repair(self) -> tuple[Change, ...]:
        """Close the conversation permanently, and return the changes."""
        repaired = repair_closure(self.turns)
        self.turns = list(repaired.turns)
        return repaired.changes

    def to_call(self, blank: ModelCall, options: SendOptions) -> PreparedCall:
        """The next question for one endpoint; raises HistoryError if calls have no result.

        `blank` holds everything except the turns. The conversation itself does not change, so the
        next question may go to another vendor.
        """
        changes: list[Change] = []
        # Before trimming: an id that was sent once stays the same, also if it occurs twice.
        turns = self._close(options, changes)
        turns = self._with_wire_ids(turns, options.dialect.id_rule, changes)
        turns, was_cut = _trim_turns(turns, options, changes)
        receiver = Receiver(
            options.dialect, options.origin, bool(blank.tools), options.prefix_changed or was_cut
        )
        replayed = replay_reasoning(turns, receiver)
        changes += replayed.changes
        losses = list(replayed.losses)
        question = replace(blank, turns=replayed.turns)
        missing = missing_reasoning(replayed.turns, receiver)
        thinking = _choose_thinking(question, options, missing, changes, losses)
        applied = apply_dialect(question, options.dialect, thinking=thinking)
        changes += applied.changes
        return PreparedCall(applied.call, tuple(changes), tuple(losses))

    def wire_turns(self, id_rule: str) -> tuple[Turn, ...]:
        """The turns with ids that the vendor accepts, and otherwise as they are."""
        return self._with_wire_ids(self.turns, id_rule, [])

    def as_json(self) -> dict[str, JSON]:
        return {
            "version": VERSION,
            "turns": turns_to_json(self.turns),
            "ids": {name: ids.as_json() for name, ids in self._ids.items()},
        }

    @classmethod
    def from_json(cls, data: JSON) -> Conversation:
        """Read a conversation that `as_json` wrote; raises WireError for other data."""
        match data:
            case {"version": 1, "turns": turns, "ids": Mapping() as ids}:
                maps = {str(name): IdMap.from_json(value) for name, value in ids.items()}
                return cls(list(turns_from_json(turns, "$.turns")), maps)
            case _:
                raise WireError("This is not a stored conversation.", "$")

    def _close(self, options: SendOptions, changes: list[Change]) -> tuple[Turn, ...]:
        if options.repair:
            repaired = repair_closure(self.turns)
            changes += repaired.changes
            return repaired.turns
        findings = check_closure(self.turns)
        if findings:
            message = f"The conversation cannot be sent: {findings[0].message}"
            raise HistoryError(message, findings)
        return tuple(self.turns)

    def _with_wire_ids(
        self, turns: Sequence[Turn], rule: str, changes: list[Change]
    ) -> tuple[Turn, ...]:
        """The turns with ids that the endpoint accepts; the stored ids do not change."""
        walk = self._ids.setdefault(rule, IdMap(RULES[rule])).walk()
        mapped = []
        for index, turn in enumerate(turns):
            parts = tuple(_with_wire_id(part, walk) for part in turn.parts)
            mapped.append(turn if parts == turn.parts else replace(turn, parts=parts))
            if parts != turn.parts:
                message = f"Ids are sent in the form {rule!r}."
                changes.append(Change(ChangeKind.IDS_MAPPED, message, f"$.turns[{index}]"))
        return tuple(mapped)


def _trim_turns(
    turns: tuple[Turn, ...], options: SendOptions, changes: list[Change]
) -> tuple[tuple[Turn, ...], bool]:
    """The turns within the budget, and whether something before them was cut."""
    if options.budget is None:
        return turns, False
    trimmed = trim_turns(turns, options.budget, rule=options.dialect.replay)
    if trimmed.dropped:
        message = f"{trimmed.dropped} turns were left out to fit the budget."
        changes.append(Change(ChangeKind.TURNS_TRIMMED, message, "$.turns"))
    if not trimmed.fits:
        message = "Even the last question with what followed is over the budget."
        changes.append(Change(ChangeKind.OVER_BUDGET, message, "$.turns"))
    return trimmed.turns, trimmed.voids_signatures


def _choose_thinking(
    question: ModelCall,
    options: SendOptions,
    missing: list[str],
    changes: list[Change],
    losses: list[Loss],
) -> bool | None:
    """How to switch thinking: off if required reasoning was never received.

    Invented reasoning is refused or makes the model worse; without thinking none is required.
    """
    switch = options.dialect.thinking
    if not missing or options.thinking is False or not is_thinking(question, options.dialect):
        return options.thinking
    # A client's wish does not bind: refused, it would not think either.
    is_free = options.thinking is None and not any(key in question.options for key in switch.on)
    if switch.off and is_free:
        message = "Reasoning that the endpoint would demand was never received; it must not think."
        changes.append(Change(ChangeKind.THINKING_OFF, message, missing[0]))
        return False
    message = "The endpoint may refuse this turn, because its reasoning was never received."
    losses.extend(Loss(LossKind.REASONING, path, message) for path in missing)
    return options.thinking


def _with_wire_id(part: Part, walk: IdWalk) -> Part:
    match part:
        case ToolCall():
            id_ = walk.call(part.id, part.name)
            return part if id_ == part.id else replace(part, id=id_)
        case ToolResult():
            answered = walk.result(part.call_id)
            return part if answered in (None, part.call_id) else replace(part, call_id=answered)
        case _:
            return part


def _call(turns: Sequence[Turn], ref: PartRef) -> ToolCall | BrokenCall:
    part = turns[ref.turn].parts[ref.part]
    assert isinstance(part, ToolCall | BrokenCall)
    return part
