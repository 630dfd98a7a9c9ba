"""Gemini's request body, in both directions. The model is in the URL, not in the body."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from probes.adapters.gemini.content_parts import (
    FORMAT,
    MAX_PARTS,
    camel_case_fields,
    is_minted,
    read_part,
    read_result,
    write_part,
    write_result,
)
from probes.adapters.gemini.tools import read_choice, read_tools, write_config, write_tools
from probes.adapters.generation.gemini import OPTIONS
from probes.adapters.generation.options import merge_fields, read_generation, write_generation
from probes.adapters.json_fields import (
    Notes,
    copy_object,
    count_or_none,
    keep_extra,
    mint_id,
    own_fields,
    require_list,
    require_object,
    text_or_empty,
    text_or_none,
    unread_fields,
)
from probes.adapters.tool_calls import unwritten_calls, user_turns
from probes.errors import WireError
from probes.messages import JSON, ModelCall, Part, Role, Text, ToolResult, Turn

MAX_CONTENTS = 100_000
ROLES = {Role.USER: "user", Role.ASSISTANT: "model", Role.TOOL: "user"}
KNOWN = ("model", "contents", "systemInstruction", "tools", "toolConfig", "generationConfig")
SEPARATE_FIELDS = ("toolConfig", "generationConfig")


def write_request(call: ModelCall) -> dict[str, JSON]:
    """The body of a question."""
    own, generation = write_generation(OPTIONS, own_fields(call.extra, FORMAT), call)
    body = unread_fields(own, *SEPARATE_FIELDS) | unread_fields(call.options, "generationConfig")
    config = copy_object(own, "generationConfig")
    if call.max_tokens is not None:
        config["maxOutputTokens"] = call.max_tokens
    if config := config | copy_object(call.options, "generationConfig"):
        body["generationConfig"] = config
    body = merge_fields(generation, body)
    system = [turn for turn in call.turns if turn.role is Role.SYSTEM]
    if parts := [part for turn in system for part in _plain_parts(turn)]:
        body["systemInstruction"] = {"parts": parts} | own_fields(system[0].extra, FORMAT)
    body["contents"] = _contents([turn for turn in call.turns if turn.role is not Role.SYSTEM])
    if tools := write_tools(call):
        body["tools"] = tools
        if tool_config := write_config(call):
            body["toolConfig"] = tool_config
    return body


def read_request(body: JSON) -> ModelCall:
    """The question in a client's body; raises WireError with the invalid path."""
    root = camel_case_fields(require_object(body, "$"))
    turns = _read_system(root.get("systemInstruction"))
    turns += _Conversation().read(root.get("contents"))
    tools, vendor_tools = read_tools(root.get("tools"))
    choice, tool_config = read_choice(root.get("toolConfig"))
    config = _read_config(root)
    more = unread_fields(root, *KNOWN) | tool_config
    if unread := unread_fields(config, "maxOutputTokens"):
        more["generationConfig"] = unread
    return ModelCall(
        model=text_or_empty(root.get("model")).removeprefix("models/"),
        turns=tuple(turns),
        tools=tools,
        max_tokens=count_or_none(config.get("maxOutputTokens")),
        tool_choice=choice,
        generation=read_generation(OPTIONS, {"generationConfig": config}),
        extra=keep_extra(FORMAT, more),
        vendor_tools=vendor_tools,
    )


def _read_config(root: Mapping[str, JSON]) -> dict[str, JSON]:
    config = camel_case_fields(copy_object(root, "generationConfig"))
    if isinstance(thinking := config.get("thinkingConfig"), Mapping):
        config["thinkingConfig"] = camel_case_fields(thinking)
    return config


@dataclass(slots=True)
class _Names:
    """The tool of each call id, as of the latest model turn that used the id."""

    by_id: dict[str, str] = field(default_factory=dict)
    minted: set[str] = field(default_factory=set)

    def learn(self, turn: Turn) -> None:
        for call in turn.calls:
            self.by_id[call.id] = call.name
            (self.minted.add if is_minted(call) else self.minted.discard)(call.id)


@dataclass(slots=True)
class _Content:
    role: Role
    parts: list[JSON]
    extra: dict[str, JSON]


def _contents(turns: Sequence[Turn]) -> list[JSON]:
    unwritten = unwritten_calls(turns)
    names = _Names()
    contents: list[_Content] = []
    for turn in turns:
        names.learn(turn)
        parts = [*_results(turn, names, unwritten), *_plain_parts(turn)]
        if not parts:
            continue
        # The results of one step, and the model's parts of one step, must be one content.
        if not contents or contents[-1].role is not turn.role or turn.role is Role.USER:
            contents.append(_Content(turn.role, [], {}))
        contents[-1].parts += parts
        contents[-1].extra |= own_fields(turn.extra, FORMAT)
    return [{"role": ROLES[item.role], "parts": item.parts} | item.extra for item in contents]


def _results(turn: Turn, names: _Names, unwritten: set[str]) -> list[JSON]:
    return [
        write_result(
            result, names.by_id.get(result.call_id, ""), minted=result.call_id in names.minted
        )
        for result in turn.results
        if result.call_id not in unwritten
    ]


def _plain_parts(turn: Turn) -> Iterator[JSON]:
    # An empty text is dropped beside other parts, unless it has a signature.
    for part in turn.parts:
        if isinstance(part, ToolResult):
            continue
        if len(turn.parts) > 1 and part == Text(""):
            continue
        if (written := write_part(part)) is not None:
            yield written


def _read_system(value: JSON) -> list[Turn]:
    if value is None:
        return []
    if isinstance(value, str):
        return [Turn(Role.SYSTEM, (Text(value),))]
    entry = require_object(value, "$.systemInstruction")
    path = "$.systemInstruction.parts"
    items = require_list(entry.get("parts") or [], path, limit=MAX_PARTS)
    parts = [read_part(item, f"{path}[{i}]", Notes(), path) for i, item in enumerate(items)]
    return [
        Turn(Role.SYSTEM, tuple(parts), extra=keep_extra(FORMAT, unread_fields(entry, "parts")))
    ]


class _Conversation:
    """Reads contents in order and pairs results without an id with the call they answer."""

    def __init__(self) -> None:
        self._waiting: list[tuple[str, str]] = []

    def read(self, value: JSON) -> list[Turn]:
        contents = require_list(value, "$.contents", limit=MAX_CONTENTS)
        return [
            turn
            for index, item in enumerate(contents)
            for turn in self._content(item, f"$.contents[{index}]")
        ]

    def _content(self, item: JSON, path: str) -> list[Turn]:
        entry = require_object(item, path)
        items = require_list(entry.get("parts") or [], f"{path}.parts", limit=MAX_PARTS)
        parts = [self._part(part, f"{path}.parts[{i}]") for i, part in enumerate(items)]
        extra = unread_fields(entry, "role", "parts")
        match entry.get("role"):
            case "model":
                turn = Turn(Role.ASSISTANT, tuple(parts), extra=keep_extra(FORMAT, extra))
                self._waiting = [(call.name, call.id) for call in turn.calls]
                return [turn]
            case "function":
                return user_turns(parts, keep_extra(FORMAT, extra | {"role": "function"}))
            case "user" | None:
                return user_turns(parts, keep_extra(FORMAT, extra))
            case _:
                raise WireError("There is no such role.", f"{path}.role")

    def _part(self, item: JSON, path: str) -> Part:
        entry = camel_case_fields(require_object(item, path))
        if "functionResponse" not in entry:
            return read_part(entry, path, Notes(), path)
        body = copy_object(entry, "functionResponse")
        name, id_ = text_or_empty(body.get("name")), text_or_none(body.get("id"))
        return read_result(entry, path, self._answered(name, id_) or mint_id(path, name))

    def _answered(self, name: str, id_: str | None) -> str:
        for index, (called, call_id) in enumerate(self._waiting):
            if call_id == id_ or (not id_ and called == name):
                del self._waiting[index]
                return call_id
        return ""
