"""Requests of the Responses API, read and written."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from probes.adapters.json_fields import (
    count_or_none,
    join_levels,
    keep_extra,
    object_or_empty,
    own_outer_fields,
    require_list,
    require_object,
    require_text,
    text_or_empty,
    unread_fields,
)
from probes.adapters.openai_chat.tools import (
    KNOWN_FUNCTION,
    has_text_blocks,
    is_plain,
    read_function,
    read_tools,
    write_function,
    write_tools,
)
from probes.adapters.openai_responses.items import (
    FORMAT,
    TEXTS,
    item_parts,
    message_parts,
    write_items,
    write_text,
)
from probes.adapters.tool_calls import flagged_text
from probes.errors import WireError
from probes.messages import (
    JSON,
    ModelCall,
    Opaque,
    Part,
    Role,
    Text,
    ToolChoice,
    ToolResult,
    ToolSpec,
    Turn,
)

ROLES = {"system": Role.SYSTEM, "developer": Role.SYSTEM, "user": Role.USER}
MODES = frozenset({"auto", "none", "required"})
_KNOWN_BODY = (
    "model",
    "input",
    "instructions",
    "tools",
    "parallel_tool_calls",
    "max_output_tokens",
    "stream",
)


def read_request(body: JSON) -> ModelCall:
    """The question in a request body; raises WireError with the invalid path."""
    root = require_object(body, "$")
    history = _History()
    if isinstance(instructions := root.get("instructions"), str):
        history.turns.append(Turn(Role.SYSTEM, (Text(instructions),)))
    items = root.get("input")
    if isinstance(items, str):
        history.turns.append(Turn(Role.USER, (Text(items),)))
    else:
        for index, item in enumerate(require_list(items, "$.input")):
            history.add(require_object(item, f"$.input[{index}]"), f"$.input[{index}]")
    specs, others = read_tools(root.get("tools"), _read_spec)
    choice = read_choice(root.get("tool_choice"))
    known_choice = ("tool_choice",) if choice is not None else ()
    parallel = root.get("parallel_tool_calls")
    return ModelCall(
        model=require_text(root, "model", "$"),
        turns=tuple(history.turns),
        tools=tuple(specs),
        max_tokens=count_or_none(root.get("max_output_tokens")),
        tool_choice=choice,
        parallel=parallel if isinstance(parallel, bool) else None,
        stream=root.get("stream") is True,
        extra=keep_extra(
            FORMAT, join_levels(unread_fields(root, *_KNOWN_BODY, *known_choice), tools=others)
        ),
    )


def write_request(call: ModelCall) -> dict[str, JSON]:
    """The request body for a question."""
    body: dict[str, JSON] = {"max_output_tokens": call.max_tokens, **call.options}
    body |= own_outer_fields(call.extra, FORMAT)
    if body["max_output_tokens"] is None:
        del body["max_output_tokens"]
    body["model"] = call.model
    turns = call.turns
    if turns and (instructions := _instructions(turns[0])) is not None:
        body["instructions"] = instructions
        turns = turns[1:]
    body["input"] = [item for turn in turns for item in _items(turn)]
    if tools := write_tools(call, _write_spec, FORMAT):
        body["tools"] = tools
    if call.tool_choice is not None:
        body["tool_choice"] = _write_choice(call.tool_choice)
    if call.parallel is not None:
        body["parallel_tool_calls"] = call.parallel
    if call.stream:
        body["stream"] = True
    return body


def read_choice(value: JSON) -> ToolChoice | None:
    """The choice of a tool_choice field, or None if it has no equivalent."""
    match value:
        case str() if value in MODES:
            return ToolChoice(value)
        case {"type": "function", "name": str(name)}:
            return ToolChoice("named", name)
        case _:
            return None


def carries_blocks(result: ToolResult) -> bool:
    """Whether a result's blocks are sent unchanged."""
    return has_text_blocks(result, TEXTS) or "output" in own_outer_fields(result.extra, FORMAT)


@dataclass
class _History:
    """The turns so far. The output of one model turn is one turn, and so are its results."""

    turns: list[Turn] = field(default_factory=list)

    def add(self, item: Mapping[str, JSON], path: str) -> None:
        kind, role = item.get("type"), text_or_empty(item.get("role"))
        if kind in (None, "message") and role in ROLES:
            self.turns.append(self._message(item, role))
        elif kind in (None, "message") and role != "assistant":
            raise WireError("A message has no role that we know.", f"{path}.role")
        elif kind == "function_call_output":
            self._join(Role.TOOL, [_read_result(item, path)])
        elif text_or_empty(kind).endswith("_output"):
            self._join(Role.TOOL, [Opaque(FORMAT, item)])
        else:
            self._join(Role.ASSISTANT, item_parts({"type": "message", **item}, path))

    def _message(self, item: Mapping[str, JSON], role: str) -> Turn:
        own = unread_fields(item, "type", "role", "content")
        parts = message_parts({"content": item.get("content")})
        # The first system text is written as instructions unless its position is recorded.
        if role == "developer" or (role == "system" and not self.turns):
            own["role"] = role
        return Turn(ROLES[role], tuple(parts), extra=keep_extra(FORMAT, own))

    def _join(self, role: Role, parts: list[Part]) -> None:
        last = self.turns[-1] if self.turns else None
        if last is None or last.role is not role or self._would_merge(last, parts):
            self.turns.append(Turn(role, tuple(parts)))
        else:
            self.turns[-1] = replace(last, parts=(*last.parts, *parts))

    def _would_merge(self, last: Turn, parts: list[Part]) -> bool:
        """Whether two messages without an id would become one."""
        ends, begins = last.parts[-1:], parts[:1]
        return (
            bool(ends and begins)
            and isinstance(ends[0], Text)
            and isinstance(begins[0], Text)
            and ends[0].extra == begins[0].extra
        )


def _read_result(item: Mapping[str, JSON], path: str) -> ToolResult:
    own = unread_fields(item, "type", "call_id", "output")
    output = item.get("output")
    entries = output if isinstance(output, list) else []
    texts = [text_or_empty(object_or_empty(entry).get("text")) for entry in entries]
    if entries and not all(is_plain(entry, TEXTS) for entry in entries):
        own["output"] = output
    return ToolResult(
        require_text(item, "call_id", path),
        output if isinstance(output, str) else "".join(texts),
        blocks=tuple(entries) if len(entries) > 1 or "output" in own else (),
        extra=keep_extra(FORMAT, own),
    )


def _read_spec(entry: Mapping[str, JSON], path: str) -> ToolSpec:
    return read_function(
        entry, path, keep_extra(FORMAT, unread_fields(entry, "type", *KNOWN_FUNCTION))
    )


def _instructions(turn: Turn) -> str | None:
    match turn:
        case Turn(role=Role.SYSTEM, parts=(Text() as text,)) if not own_outer_fields(
            turn.extra, FORMAT
        ):
            return None if own_outer_fields(text.extra, FORMAT) else text.text
        case _:
            return None


def _items(turn: Turn) -> Iterator[JSON]:
    for part in turn.parts:
        if isinstance(part, ToolResult):
            yield _write_result(part)
        elif turn.role is Role.TOOL and isinstance(part, Opaque) and part.format == FORMAT:
            yield part.raw
    if turn.role is Role.ASSISTANT:
        yield from write_items(turn.parts)
    elif content := [part for part in turn.parts if _is_content(part, turn.role)]:
        yield _message(turn, content)


def _is_content(part: Part, role: Role) -> bool:
    if isinstance(part, Opaque):
        return part.format == FORMAT and role is not Role.TOOL
    return isinstance(part, Text)


def _message(turn: Turn, parts: list[Part]) -> dict[str, JSON]:
    own = own_outer_fields(turn.extra, FORMAT)
    role = own.pop("role", str(turn.role if turn.role is not Role.TOOL else Role.USER))
    content = [write_text(part, role="user") for part in parts]
    body: dict[str, JSON] = {"type": "message", "role": role, "content": content}
    if len(content) == 1 and is_plain(content[0], TEXTS):
        body["content"] = content[0]["text"]
    return body | own


def _write_result(result: ToolResult) -> dict[str, JSON]:
    body: dict[str, JSON] = {"type": "function_call_output", "call_id": result.call_id}
    body["output"] = flagged_text(result)
    if has_text_blocks(result, TEXTS):
        texts = [object_or_empty(block).get("text") for block in result.blocks]
        body["output"] = [{"type": "input_text", "text": content} for content in texts]
    return body | own_outer_fields(result.extra, FORMAT)


def _write_spec(spec: ToolSpec) -> dict[str, JSON]:
    return {"type": "function", **write_function(spec), **own_outer_fields(spec.extra, FORMAT)}


def _write_choice(choice: ToolChoice) -> JSON:
    if choice.mode == "named":
        return {"type": "function", "name": choice.name}
    return choice.mode
