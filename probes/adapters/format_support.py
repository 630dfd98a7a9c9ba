"""What a format cannot carry, found by walking a value once. Each adapter declares its support."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from itertools import chain

from probes.adapters.generation import OPTIONS
from probes.adapters.generation.options import generation_losses, unread_options
from probes.adapters.json_fields import MINTED, object_or_empty, own_fields, unread_fields
from probes.adapters.tool_calls import sent_choice, unwritten_calls
from probes.losses import Loss, LossKind
from probes.messages import (
    JSON,
    BrokenCall,
    Extra,
    Image,
    ModelCall,
    Opaque,
    Part,
    Reasoning,
    ReasoningKind,
    Reply,
    Role,
    Text,
    ToolCall,
    ToolChoice,
    ToolResult,
    ToolSpec,
    Turn,
)


class Order(Enum):
    """The order in which a message's parts can be."""

    FREE = auto()
    CALLS_LAST = auto()
    ONE_TEXT = auto()  # before the calls


@dataclass(frozen=True, slots=True)
class FormatSupport:
    """What one wire format can carry."""

    format: str
    reasoning: Callable[[Reasoning], bool]
    blocks: Callable[[ToolResult], bool]  # called only for results with blocks
    error_flag: bool = True
    parallel: bool = True
    choices: frozenset[str] = frozenset({"auto", "none", "required", "named"})
    subsets: frozenset[str] = frozenset()  # the modes in which a choice can name several tools
    strict: bool = True
    order: Order = Order.FREE
    late_system: bool = True
    # Pictures: by their address, in a result, and in an answer.
    image_urls: bool = True
    result_images: bool = True
    answer_images: bool = False
    # In a history, not in an answer.
    tagged_reasoning: bool = False
    broken_calls: bool = False
    answers_broken: bool = True  # results of calls that are left out are written
    # Whether losses of a value's own fields are reported before those inside it.
    extra_first: bool = True

    def losses(self, value: ModelCall | Reply) -> list[Loss]:
        """Everything in a value that this format drops or changes."""
        if isinstance(value, Reply):
            walk = _LossWalk(self, in_reply=True)
            return list(walk.with_extra(walk.parts(value.parts, "$"), value.extra, "$"))
        walk = _LossWalk(self, in_reply=False)
        losses = list(walk.with_extra(walk.call(value), _unread_extra(value), "$"))
        if not self.answers_broken and any(loss.kind is LossKind.BROKEN_CALL for loss in losses):
            losses += _unanswered(value.turns)
        return losses


@dataclass(frozen=True, slots=True)
class _LossWalk:
    support: FormatSupport
    in_reply: bool

    def call(self, call: ModelCall) -> Iterator[Loss]:
        support = self.support
        own = own_fields(call.extra, support.format)
        yield from generation_losses(OPTIONS[support.format], call.generation, own)
        if call.tools and call.parallel is not None and not support.parallel:
            yield Loss(LossKind.PARALLEL, "$.parallel", "There is no switch for parallel calls.")
        if call.tool_choice is not None and (message := self.lost_choice(call, call.tool_choice)):
            yield Loss(LossKind.TOOL_CHOICE, "$.tool_choice", message)
        for index, tool in enumerate(call.vendor_tools):
            if tool.format != support.format:
                message = f"The tool {tool.name!r} is known to the {tool.format!r} format only."
                yield Loss(LossKind.VENDOR_TOOL, f"$.vendor_tools[{index}]", message)
        for index, spec in enumerate(call.tools):
            path = f"$.tools[{index}]"
            yield from self.with_extra(self.tool(spec, path), spec.extra, path)
        has_started = False
        for index, turn in enumerate(call.turns):
            path = f"$.turns[{index}]"
            yield from self.with_extra(self.turn(turn, path, late=has_started), turn.extra, path)
            has_started = has_started or turn.role is not Role.SYSTEM

    def lost_choice(self, call: ModelCall, choice: ToolChoice) -> str:
        if choice.mode not in self.support.choices:
            return f"The tool choice {choice.mode!r} cannot be expressed."
        if sent_choice(call, self.support.format) != choice:
            return "The tool choice names a tool that is not sent."
        if choice.names and choice.mode not in self.support.subsets:
            return "The tool choice cannot name some of the tools."
        return ""

    def tool(self, spec: ToolSpec, path: str) -> Iterator[Loss]:
        if spec.strict is not None and not self.support.strict:
            yield Loss(LossKind.STRICT, f"{path}.strict", "Tools have no strict flag.")

    def turn(self, turn: Turn, path: str, *, late: bool) -> Iterator[Loss]:
        if turn.role is Role.SYSTEM and late and not self.support.late_system:
            message = "System text inside the conversation moves to its beginning."
            yield Loss(LossKind.BLOCK_ORDER, path, message)
        answered = turn.role is Role.ASSISTANT
        yield from self.parts(turn.parts, path, answered=answered)

    def parts(self, parts: tuple[Part, ...], path: str, *, answered: bool = True) -> Iterator[Loss]:
        if self.support.order is Order.ONE_TEXT and _interleaved(parts):
            message = "Text and calls are not kept in their order."
            yield Loss(LossKind.BLOCK_ORDER, path, message)
        called = False
        for index, part in enumerate(parts):
            at = f"{path}.parts[{index}]"
            yield from self.part(part, at, answered=answered)
            late = called and isinstance(part, Text | Reasoning)
            if late and self.support.order is Order.CALLS_LAST:
                yield Loss(LossKind.BLOCK_ORDER, at, "What follows a call is written before it.")
            called = called or isinstance(part, ToolCall)

    def part(self, part: Part, path: str, *, answered: bool) -> Iterator[Loss]:
        match part:
            case Text() | ToolCall():
                yield from self.foreign_fields(part.extra, path)
            case Image():
                yield from self.foreign_fields(part.extra, path)
                yield from self.image(part, path, answered=answered)
            case ToolResult():
                yield from self.with_extra(self.result(part, path), part.extra, path)
            case Reasoning() if not self.carries_reasoning(part):
                message = f"Reasoning of the kind {str(part.kind)!r} has no place of its own."
                yield Loss(LossKind.REASONING, path, message)
            case Opaque() if part.format != self.support.format:
                message = f"A block of the {part.format!r} format is left out."
                yield Loss(LossKind.OPAQUE, path, message)
            case BrokenCall() if not self.carries_broken(part):
                yield Loss(LossKind.BROKEN_CALL, path, "A broken call is left out.")
            case _:
                pass

    def image(self, image: Image, path: str, *, answered: bool) -> Iterator[Loss]:
        if answered and not self.support.answer_images:
            yield Loss(LossKind.IMAGE, path, "An answer cannot have pictures.")
        elif image.url and not self.support.image_urls:
            yield Loss(LossKind.IMAGE, path, "A picture needs its data, not its address.")

    def carries_reasoning(self, reasoning: Reasoning) -> bool:
        tagged = self.support.tagged_reasoning and not self.in_reply
        if tagged and reasoning.kind is ReasoningKind.TAGS:
            return True
        return self.support.reasoning(reasoning)

    def carries_broken(self, call: BrokenCall) -> bool:
        # Without an id no result can answer it, and without a name no endpoint accepts it.
        sendable = bool(call.id and call.name)
        return self.support.broken_calls and not self.in_reply and sendable

    def result(self, result: ToolResult, path: str) -> Iterator[Loss]:
        if result.is_error and not self.support.error_flag:
            message = "The error flag became a prefix of the text."
            yield Loss(LossKind.ERROR_FLAG, f"{path}.is_error", message)
        if not (result.blocks or result.parts):
            return
        if result.blocks and self.support.blocks(result):
            return
        if result.images and not self.support.result_images:
            message = "The pictures of a result follow in a user turn."
            yield Loss(LossKind.IMAGE_MOVED, f"{path}.parts", message)
        for index, image in enumerate(result.parts):
            if isinstance(image, Image):
                yield from self.image(image, f"{path}.parts[{index}]", answered=False)
        if len(result.blocks) > len(result.parts):
            message = "A result of several blocks is flattened to text."
            yield Loss(LossKind.RESULT_BLOCKS, f"{path}.blocks", message)

    def with_extra(self, inside: Iterable[Loss], extra: Extra, path: str) -> Iterator[Loss]:
        """The losses inside a value, and its fields of other formats."""
        outside = self.foreign_fields(extra, path)
        return chain(outside, inside) if self.support.extra_first else chain(inside, outside)

    def foreign_fields(self, extra: Extra, path: str) -> Iterator[Loss]:
        for format_, fields in extra.items():
            present = _fields_with_values(fields) if isinstance(fields, Mapping) else ["?"]
            if format_ == self.support.format or not present:
                continue
            signed = any(name.lower().endswith("signature") for name in present)
            kind = LossKind.SIGNATURE if signed else LossKind.EXTRA
            names = ", ".join(present)[:200]
            yield Loss(kind, path, f"Fields of the {format_!r} format are left out: {names}.")


def _unanswered(turns: Sequence[Turn]) -> Iterator[Loss]:
    """The results of calls that are left out."""
    unwritten = unwritten_calls(turns)
    for index, turn in enumerate(turns):
        for result in turn.results:
            if result.call_id in unwritten:
                message = "The result of a call that is left out is left out too."
                yield Loss(LossKind.BROKEN_CALL, f"$.turns[{index}]", message)


def _unread_extra(call: ModelCall) -> Extra:
    """The fields of each format without those that the generation says in all of them."""
    return {
        form: _without_choice(call, unread_options(OPTIONS[form], fields, call.generation))
        if form in OPTIONS and isinstance(fields, Mapping)
        else fields
        for form, fields in call.extra.items()
    }


def _without_choice(call: ModelCall, fields: dict[str, JSON]) -> dict[str, JSON]:
    """The fields without a tool choice that the call says in all formats."""
    is_said = call.tool_choice is not None and "type" in object_or_empty(fields.get("tool_choice"))
    return unread_fields(fields, "tool_choice") if is_said else fields


def _fields_with_values(fields: Mapping[str, JSON]) -> list[str]:
    """The fields with a value, without our own mark of a minted id."""
    empty: tuple[JSON, ...] = (None, [], {}, "")
    names = (name for name, value in fields.items() if value not in empty and name != MINTED)
    return sorted(name.lstrip("$") for name in names)


def _interleaved(parts: tuple[Part, ...]) -> bool:
    """Whether there are several texts, or a text after a call."""
    kinds = [isinstance(part, Text) for part in parts if isinstance(part, Text | ToolCall | Opaque)]
    return sum(kinds) > 1 or kinds != sorted(kinds, reverse=True)
