"""Requests of the Responses API, read and written."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from probes.adapters.generation.openai_responses import OPTIONS
from probes.adapters.generation.options import merge_fields, read_generation, write_generation
from probes.adapters.images import typed_parts
from probes.adapters.json_fields import (
    blocks_text,
    count_or_none,
    keep_extra,
    object_or_empty,
    own_outer_fields,
    require_list,
    require_object,
    require_text,
    result_text,
    text_or_empty,
    unread_fields,
)
from probes.adapters.openai_chat.tools import has_text_blocks, is_plain
from probes.adapters.openai_responses.items import (
    FORMAT,
    TEXTS,
    item_parts,
    message_parts,
    write_items,
    write_text,
)
from probes.adapters.openai_responses.tools import (
    ToolReader,
    namespaced_names,
    read_choice,
    write_choice,
    write_tools,
)
from probes.adapters.tool_calls import ERROR_PREFIX, flagged_text, sent_choice
from probes.errors import WireError
from probes.messages import (
    JSON,
    Image,
    ModelCall,
    Opaque,
    Part,
    Role,
    Text,
    ToolCall,
    ToolChoice,
    ToolResult,
    Turn,
)

ROLES = {"system": Role.SYSTEM, "developer": Role.SYSTEM, "user": Role.USER}
RESULTS = ("function_call_output", "custom_tool_call_output")
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
    specs, vendor_tools = ToolReader().read(root.get("tools"))
    names = namespaced_names(specs)
    history = _History(names)
    if isinstance(instructions := root.get("instructions"), str):
        history.turns.append(Turn(Role.SYSTEM, (Text(instructions),)))
    items = root.get("input")
    if isinstance(items, str):
        history.turns.append(Turn(Role.USER, (Text(items),)))
    else:
        for index, item in enumerate(require_list(items, "$.input")):
            history.add(require_object(item, f"$.input[{index}]"), f"$.input[{index}]")
    choice = read_choice(root.get("tool_choice"), names)
    parallel = root.get("parallel_tool_calls")
    return ModelCall(
        model=require_text(root, "model", "$"),
        turns=tuple(history.turns),
        tools=specs,
        max_tokens=count_or_none(root.get("max_output_tokens")),
        tool_choice=choice,
        parallel=parallel if isinstance(parallel, bool) else None,
        generation=read_generation(OPTIONS, root),
        stream=root.get("stream") is True,
        extra=keep_extra(FORMAT, _unread(root, choice)),
        vendor_tools=vendor_tools,
    )


def write_request(call: ModelCall) -> dict[str, JSON]:
    """The request body for a question."""
    own, generation = write_generation(OPTIONS, own_outer_fields(call.extra, FORMAT), call)
    body = merge_fields(generation, {"max_output_tokens": call.max_tokens, **call.options, **own})
    if body["max_output_tokens"] is None:
        del body["max_output_tokens"]
    body["model"] = call.model
    turns = call.turns
    if turns and (instructions := _instructions(turns[0])) is not None:
        body["instructions"] = instructions
        turns = turns[1:]
    body["input"] = [item for turn in turns for item in _items(turn)]
    if tools := write_tools(call):
        body["tools"] = tools
    choice = sent_choice(call, FORMAT)
    if choice != read_choice(own.get("tool_choice"), namespaced_names(call.tools)):
        body.pop("tool_choice", None)
        body |= {"tool_choice": write_choice(choice, call)} if choice is not None else {}
    if call.parallel is not None:
        body["parallel_tool_calls"] = call.parallel
    if call.stream:
        body["stream"] = True
    return body


def carries_blocks(result: ToolResult) -> bool:
    """Whether a result's blocks are sent unchanged."""
    own = "output" in own_outer_fields(result.extra, FORMAT)
    return own or has_text_blocks(result, TEXTS) or _has_own_blocks(result)


def _has_own_blocks(result: ToolResult) -> bool:
    understood = all(map(_is_understood, result.blocks))
    return bool(result.blocks) and not result.is_error and understood


def _is_understood(entry: JSON) -> bool:
    match entry:
        case {"type": "input_image", "image_url": str()}:
            return True
        case _:
            return is_plain(entry, TEXTS)


@dataclass
class _History:
    """The turns so far. The output of one model turn is one turn, and so are its results."""

    names: Mapping[tuple[str, str], str]
    turns: list[Turn] = field(default_factory=list)

    def add(self, item: Mapping[str, JSON], path: str) -> None:
        kind, role = item.get("type"), text_or_empty(item.get("role"))
        if kind in (None, "message") and role in ROLES:
            self.turns.append(self._message(item, role))
        elif kind in (None, "message") and role != "assistant":
            raise WireError("A message has no role that we know.", f"{path}.role")
        elif kind in RESULTS:
            self._join(Role.TOOL, [_read_result(item, path)])
        elif text_or_empty(kind).endswith("_output"):
            self._join(Role.TOOL, [Opaque(FORMAT, item)])
        else:
            parts = item_parts({"type": "message", **item}, path)
            self._join(Role.ASSISTANT, [self._named(part) for part in parts])

    def _named(self, part: Part) -> Part:
        """The part; the call of a tool in a namespace has the name that its tool has here."""
        if not isinstance(part, ToolCall) or part.client_tool is None:
            return part
        key = (part.client_tool.namespace, part.client_tool.name)
        return replace(part, name=self.names.get(key, part.name))

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
    if item.get("type") != RESULTS[0]:
        own["type"] = item.get("type")
    output = item.get("output")
    entries = output if isinstance(output, list) else []
    if entries and not all(map(_is_understood, entries)):
        own["output"] = output
    parts = typed_parts(message_parts({"content": entries})) if entries else ()
    return ToolResult(
        require_text(item, "call_id", path),
        blocks_text(entries, "") if isinstance(output, list) else result_text(output),
        blocks=tuple(entries) if len(entries) > 1 or parts or "output" in own else (),
        extra=keep_extra(FORMAT, own),
        parts=parts,
    )


def _unread(root: Mapping[str, JSON], choice: ToolChoice | None) -> dict[str, JSON]:
    """The fields of a body that no value says; a choice in other words than ours stays."""
    more = unread_fields(root, *_KNOWN_BODY)
    if choice is not None and write_choice(choice, ModelCall("", ())) == root.get("tool_choice"):
        del more["tool_choice"]
    return more


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
    return isinstance(part, Text | Image)


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
    elif _has_own_blocks(result):
        body["output"] = [*result.blocks]
    elif result.parts:
        flag = [Text(ERROR_PREFIX.strip())] if result.is_error else []
        body["output"] = [write_text(part, role="user") for part in (*flag, *result.parts)]
    return body | own_outer_fields(result.extra, FORMAT)
