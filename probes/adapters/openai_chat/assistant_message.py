"""An assistant message of Chat Completions: the same in an answer and in a history."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from probes.adapters.images import read_image_url
from probes.adapters.json_fields import (
    argument_text,
    join_levels,
    keep_extra,
    mint_call_id,
    object_or_empty,
    require_list,
    require_object,
    require_text,
    text_or_empty,
    unread_fields,
)
from probes.adapters.tool_calls import custom_call, read_call, repeats_id
from probes.errors import WireError
from probes.messages import (
    JSON,
    BrokenCall,
    ClientTool,
    Deviation,
    Image,
    Opaque,
    Part,
    Reasoning,
    ReasoningKind,
    Text,
    ToolCall,
)

FORMAT = "openai"
REASONING_FIELDS = ("reasoning_content", "reasoning")
REFUSAL = {FORMAT: {"type": "refusal"}}
MAX_CALLS = 64
_KNOWN_MESSAGE = ("role", "content", "tool_calls", "function_call")
_KNOWN_CALL = ("id", "type", "function", "custom")
_KNOWN_FUNCTION = ("name", "arguments")
_KNOWN_CUSTOM = ("name", "input")


@dataclass
class MessageReader:
    """One pass over one message; collects deviations from the format."""

    path: str
    seed: str = ""
    deviations: list[Deviation] = field(default_factory=list)

    def note(self, name: str, path: str) -> None:
        self.deviations.append(Deviation(name, path))

    def parts(self, message: Mapping[str, JSON]) -> list[Part]:
        """Reasoning, then text, then calls: the only order in this format."""
        return [*read_reasoning(message), *self.content(message), *self.calls(message)]

    def content(self, message: Mapping[str, JSON]) -> list[Part]:
        parts: list[Part]
        match message.get("content"):
            case None:
                parts = []
            case str(content):
                parts = [Text(content)]
            case list(content):
                self.note("content_parts", f"{self.path}.content")
                parts = [read_content_part(part) for part in content]
            case _:
                raise WireError("The content is neither text nor null.", f"{self.path}.content")
        refusal = message.get("refusal")
        return [*parts, Text(refusal, REFUSAL)] if isinstance(refusal, str) else parts

    def calls(self, message: Mapping[str, JSON]) -> list[Part]:
        path = f"{self.path}.tool_calls"
        entries = message.get("tool_calls")
        items = [] if entries is None else require_list(entries, path)
        if len(items) > MAX_CALLS:
            raise WireError(f"The answer has more than {MAX_CALLS} calls.", path)
        calls = [self.call(item, index) for index, item in enumerate(items)]
        if repeats_id(calls):
            self.note("duplicate_id", path)
        if not calls and message.get("function_call") is not None:
            legacy = f"{self.path}.function_call"
            self.note("legacy_function_call", legacy)
            return [self.function("", message["function_call"], legacy, {})]
        return [*calls]

    def call(self, item: JSON, index: int) -> ToolCall | BrokenCall:
        path = f"{self.path}.tool_calls[{index}]"
        entry = require_object(item, path)
        is_custom = entry.get("type") == "custom"
        if entry.get("type") != "function" and not is_custom:
            self.note("call_type", f"{path}.type")
        id_ = entry.get("id")
        if not isinstance(id_, str) or not id_:
            self.note("missing_id", f"{path}.id")
            id_ = ""
        more = call_leftover(entry, index)
        if is_custom:
            return self.custom(id_, entry.get("custom"), f"{path}.custom", more)
        return self.function(id_, entry.get("function"), f"{path}.function", more)

    def custom(self, id_: str, item: JSON, path: str, more: Mapping[str, JSON]) -> ToolCall:
        entry = require_object(item, path)
        name, text = require_text(entry, "name", path), require_text(entry, "input", path)
        declared = ClientTool(FORMAT, name, custom=True)
        id_ = id_ or mint_call_id(self.seed, path, name, text)
        return custom_call(
            text, id=id_, name=name, client_tool=declared, extra=keep_extra(FORMAT, more)
        )

    def function(
        self, id_: str, item: JSON, path: str, more: Mapping[str, JSON]
    ) -> ToolCall | BrokenCall:
        entry = require_object(item, path)
        name = entry.get("name")
        if not isinstance(name, str) or not name:
            raise WireError("A call has no tool name.", f"{path}.name")
        at = f"{path}.arguments"
        raw = self.raw_arguments(entry.get("arguments"), at)
        id_ = id_ or mint_call_id(self.seed, path, name, raw)
        call = ToolCall(id_, name, {}, FORMAT, raw, extra=keep_extra(FORMAT, more))
        resolved, repeated = read_call(call, at)
        for key in repeated:
            self.note("duplicate_key", f"{at}.{key}")
        return resolved

    def raw_arguments(self, value: JSON, path: str) -> str:
        if isinstance(value, str):
            return value
        if value is None:
            self.note("arguments_null", path)
            return ""
        self.note("arguments_object" if isinstance(value, Mapping) else "arguments_type", path)
        return argument_text(value)


def read_content_part(part: JSON) -> Text | Image | Opaque:
    """A part of a content list: text or a picture with its other fields, or kept whole."""
    match part:
        case {"type": "text", "text": str(content)}:
            more = unread_fields(object_or_empty(part), "type", "text")
            return Text(content, keep_extra(FORMAT, more))
        case {"type": "image_url", "image_url": {"url": str(url)} as address}:
            outer = unread_fields(object_or_empty(part), "type", "image_url")
            more = join_levels(outer, image_url=unread_fields(object_or_empty(address), "url"))
            return read_image_url(url, keep_extra(FORMAT, more))
        case _:
            return Opaque(FORMAT, part)


def read_reasoning(message: Mapping[str, JSON]) -> list[Reasoning]:
    """The reasoning beside the content: a string, an array, or both with the same text."""
    parts: list[Reasoning] = []
    name = reasoning_field(message)
    if name:
        parts = [Reasoning(str(message[name]), ReasoningKind.FIELD, name)]
    details = message.get("reasoning_details")
    if isinstance(details, list):
        # If the string is present too, its text would otherwise appear twice.
        visible = "" if parts else details_text(details)
        parts.append(Reasoning(visible, ReasoningKind.DETAILS, details))
    return parts


def reasoning_field(message: Mapping[str, JSON]) -> str:
    """The name of the field that holds reasoning as a string, or ""."""
    held = (name for name in REASONING_FIELDS if isinstance(message.get(name), str))
    return next(held, "")


def details_text(details: list[JSON]) -> str:
    """The readable text of a reasoning_details array."""
    entries = [object_or_empty(entry) for entry in details]
    texts = [text_or_empty(entry.get("text", entry.get("summary"))) for entry in entries]
    return "".join(texts)


def message_leftover(message: Mapping[str, JSON]) -> dict[str, JSON]:
    """The fields of a message that no part carries."""
    carried = {reasoning_field(message)}
    if isinstance(message.get("reasoning_details"), list):
        carried.add("reasoning_details")
    if isinstance(message.get("refusal"), str):
        carried.add("refusal")
    return unread_fields(message, *_KNOWN_MESSAGE, *carried)


def call_leftover(entry: Mapping[str, JSON], index: int) -> dict[str, JSON]:
    """The fields of a call that the value does not carry; `$function` holds inner ones."""
    own = unread_fields(entry, *_KNOWN_CALL)
    if own.get("index") == index:
        del own["index"]
    if "custom" in entry:
        inner = unread_fields(object_or_empty(entry.get("custom")), *_KNOWN_CUSTOM)
        return join_levels(own, custom=inner)
    inner = unread_fields(object_or_empty(entry.get("function")), *_KNOWN_FUNCTION)
    return join_levels(own, function=inner)
