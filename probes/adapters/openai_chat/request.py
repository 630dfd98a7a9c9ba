"""Reads requests of Chat Completions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from probes.adapters.generation.openai_chat import OPTIONS
from probes.adapters.generation.options import read_generation
from probes.adapters.images import typed_parts
from probes.adapters.json_fields import (
    blocks_text,
    count_or_none,
    join_levels,
    keep_extra,
    require_list,
    require_object,
    require_text,
    result_text,
    text_or_empty,
    unread_fields,
)
from probes.adapters.openai_chat.assistant_message import (
    FORMAT,
    MessageReader,
    message_leftover,
    read_content_part,
)
from probes.adapters.openai_chat.tools import (
    KNOWN_FUNCTION,
    MODES,
    allowed_tools,
    read_custom,
    read_function,
    read_tools,
)
from probes.errors import WireError
from probes.messages import (
    JSON,
    ClientTool,
    Image,
    ModelCall,
    Part,
    Role,
    Text,
    ToolCall,
    ToolChoice,
    ToolResult,
    ToolSpec,
    Turn,
)

ROLES = {
    "system": Role.SYSTEM,
    "developer": Role.SYSTEM,
    "user": Role.USER,
    "assistant": Role.ASSISTANT,
    "tool": Role.TOOL,
    "function": Role.TOOL,
}
_KNOWN_BODY = (
    "model",
    "messages",
    "tools",
    "tool_choice",
    "parallel_tool_calls",
    "max_tokens",
    "stream",
)


def read_request(body: JSON) -> ModelCall:
    """The question in a request body; raises WireError with the invalid path."""
    root = require_object(body, "$")
    reading = _History()
    for index, item in enumerate(require_list(root.get("messages"), "$.messages")):
        reading.add(require_object(item, f"$.messages[{index}]"), f"$.messages[{index}]")
    specs, vendor_tools = read_tools(root.get("tools"), FORMAT, _specs)
    choice = read_choice(root.get("tool_choice"))
    own = unread_fields(root, *_KNOWN_BODY)
    if not _is_plain(root.get("tool_choice")):
        own |= {key: root[key] for key in ("tool_choice",) if key in root}
    parallel = root.get("parallel_tool_calls")
    return ModelCall(
        model=require_text(root, "model", "$"),
        turns=tuple(reading.turns),
        tools=specs,
        max_tokens=_limit(root, own),
        tool_choice=choice,
        parallel=parallel if isinstance(parallel, bool) else None,
        generation=read_generation(OPTIONS, root),
        stream=root.get("stream") is True,
        extra=keep_extra(FORMAT, own),
        vendor_tools=vendor_tools,
    )


def read_choice(value: JSON) -> ToolChoice | None:
    """The choice of a tool_choice field, or None if it has no equivalent."""
    match value:
        case str() if value in MODES:
            return ToolChoice(MODES[value])
        case {"type": "allowed_tools", "allowed_tools": {"mode": mode, "tools": tools}}:
            return allowed_tools(mode, tools, _chosen_name)
        case Mapping() if name := _chosen_name(value):
            return ToolChoice("named", name)
        case _:
            return None


@dataclass
class _History:
    """The turns so far. Consecutive results are one turn."""

    turns: list[Turn] = field(default_factory=list)

    def add(self, message: Mapping[str, JSON], path: str) -> None:
        role = ROLES.get(text_or_empty(message.get("role")))
        match role:
            case None:
                raise WireError("A message has no role that we know.", f"{path}.role")
            case Role.TOOL:
                self._add_result(self._result(message, path))
            case Role.ASSISTANT:
                parts = MessageReader(path).parts(message)
                extra = keep_extra(FORMAT, message_leftover(message))
                self.turns.append(Turn(role, tuple(parts), extra=extra))
            case _:
                self.turns.append(_plain_turn(role, message, path))

    def _add_result(self, result: ToolResult) -> None:
        if self.turns and self.turns[-1].role is Role.TOOL:
            last = self.turns[-1]
            self.turns[-1] = replace(last, parts=(*last.parts, result))
        else:
            self.turns.append(Turn(Role.TOOL, (result,)))

    def _result(self, message: Mapping[str, JSON], path: str) -> ToolResult:
        if message.get("role") == "function":
            # The older form has only the tool's name; its call is the last with that name.
            name = text_or_empty(message.get("name"))
            return ToolResult(self._call_id(name), _message_text(message, path), name=name)
        own = unread_fields(message, "role", "tool_call_id", "content")
        content = message.get("content")
        id_, name = require_text(message, "tool_call_id", path), text_or_empty(message.get("name"))
        if not isinstance(content, list):
            extra = keep_extra(FORMAT, own)
            return ToolResult(id_, result_text(content), name=name, extra=extra)
        text, blocks, parts = blocks_text(content, ""), tuple(content), _content(content, path)
        if parts == (Text(text),):
            blocks = ()
        if any(not isinstance(part, Text | Image) or part.extra for part in parts):
            own["content"] = content
        extra = keep_extra(FORMAT, own)
        images = typed_parts(parts)
        return ToolResult(id_, text, name=name, blocks=blocks, extra=extra, parts=images)

    def _call_id(self, name: str) -> str:
        calls: list[ToolCall] = [call for turn in self.turns[-3:] for call in turn.calls]
        return next((call.id for call in reversed(calls) if call.name == name), "")


def _plain_turn(role: Role, message: Mapping[str, JSON], path: str) -> Turn:
    own = unread_fields(message, "role", "content")
    if message["role"] != str(role):
        own["role"] = message["role"]
    return Turn(role, _content(message.get("content"), path), extra=keep_extra(FORMAT, own))


def _content(content: JSON, path: str) -> tuple[Part, ...]:
    match content:
        case None:
            return ()
        case str():
            return (Text(content),)
        case list():
            return tuple(read_content_part(part) for part in content)
        case _:
            raise WireError("The content is neither text nor a list.", f"{path}.content")


def _message_text(message: Mapping[str, JSON], path: str) -> str:
    parts = _content(message.get("content"), path)
    return "".join(part.text for part in parts if isinstance(part, Text))


def _is_plain(choice: JSON) -> bool:
    """Whether a tool choice is written exactly as we would write it."""
    match choice:
        case "auto" | "none" | "required":
            return True
        case {"type": "function", "function": {"name": str(), **more}, **others}:
            return not more and not others
        case _:
            return False


def _chosen_name(choice: Mapping[str, JSON]) -> str:
    match choice:
        case {"type": "function", "function": {"name": str(name)}}:
            return name
        case {"type": "custom", "custom": {"name": str(name)}}:
            return name
        case _:
            return ""


def _specs(entry: Mapping[str, JSON], path: str) -> Iterator[ToolSpec]:
    match entry.get("type"):
        case "function":
            yield _spec(entry, path)
        case "custom":
            yield _custom_spec(entry, path)
        case _:
            return


def _custom_spec(entry: Mapping[str, JSON], path: str) -> ToolSpec:
    custom = require_object(entry.get("custom"), f"{path}.custom")
    inner = unread_fields(custom, "name", "description")
    more = join_levels(unread_fields(entry, "type", "custom"), custom=inner)
    declared = ClientTool(FORMAT, text_or_empty(custom.get("name")), custom=True)
    return read_custom(custom, f"{path}.custom", keep_extra(FORMAT, more), declared)


def _spec(entry: Mapping[str, JSON], path: str) -> ToolSpec:
    function = require_object(entry.get("function"), f"{path}.function")
    inner = unread_fields(function, *KNOWN_FUNCTION)
    more = join_levels(unread_fields(entry, "type", "function"), function=inner)
    return read_function(function, f"{path}.function", keep_extra(FORMAT, more))


def _limit(root: Mapping[str, JSON], own: dict[str, JSON]) -> int | None:
    """The token limit; the newer of its two names stays among the unread fields."""
    newer = count_or_none(root.get("max_completion_tokens"))
    if newer is None:
        return count_or_none(root.get("max_tokens"))
    if "max_tokens" in root:
        own["max_tokens"] = root["max_tokens"]
    return newer
