"""Tool names that an endpoint accepts, and the way back to the client's tools.

Every name that the endpoint would refuse is replaced in the whole request: tools, choice, calls and
results. The map is a function of the request alone, so that the next request of a conversation has
the same names, and no two tools share one.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from probes.events import Event, PartEnded, PartStarted, ReplyEnded
from probes.messages import (
    BrokenCall,
    ClientTool,
    ModelCall,
    Part,
    Reply,
    ToolCall,
    ToolChoice,
    ToolResult,
    ToolSpec,
    Turn,
)

MAX_NAME = 64
DIGEST = 8
_PLAIN = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_UNDIGITED = re.compile(r"[a-zA-Z_][a-zA-Z0-9_-]{0,63}")
_ANY = re.compile(r".+", re.DOTALL)
# The names that endpoints of each format accept.
NAME_RULES: Mapping[str, re.Pattern[str]] = MappingProxyType(
    {
        "anthropic": _PLAIN,
        "gemini": _UNDIGITED,
        "ollama": _ANY,
        "openai": _PLAIN,
        "openai_responses": _PLAIN,
    }
)


@dataclass(frozen=True, slots=True)
class ToolNameMap:
    """The client's tools by the names that the endpoint was given."""

    tools: Mapping[str, ToolSpec] = field(default_factory=dict)
    names: Mapping[str, str] = field(default_factory=dict)  # ours by the endpoint's, if different
    client_tools: Mapping[ClientTool, str] = field(default_factory=dict)

    def restore_part(self, part: Part) -> Part:
        """The part of a reply as the client knows it."""
        if not isinstance(part, ToolCall | BrokenCall):
            return part
        name = self.names.get(part.name, part.name)
        if isinstance(part, ToolCall) and part.client_tool is not None:
            name = self.client_tools.get(part.client_tool, name)
        part = part if name == part.name else replace(part, name=name)
        spec = self.tools.get(name)
        if spec is None or spec.client_tool is None or not isinstance(part, ToolCall):
            return part
        return replace(part, client_tool=spec.client_tool)

    def restore_event(self, event: Event) -> Event:
        """The event of a stream as the client knows it."""
        match event:
            case PartStarted(name=str(name)) if name:
                return self._restore_start(event)
            case PartEnded():
                return replace(event, part=self.restore_part(event.part))
            case ReplyEnded():
                return ReplyEnded(self.restore_reply(event.reply))
            case _:
                return event

    def restore_reply(self, reply: Reply) -> Reply:
        return replace(reply, parts=tuple(self.restore_part(part) for part in reply.parts))

    def _restore_start(self, event: PartStarted) -> PartStarted:
        name = self.names.get(event.name, event.name)
        spec = self.tools.get(name)
        # A call that is not one of a function must not be announced as one.
        is_function = spec is None or spec.client_tool is None
        return replace(event, name=name if is_function else "")


def fit_tool_names(call: ModelCall, format: str) -> tuple[ModelCall, ToolNameMap]:
    """The request with names that endpoints of this format accept, and the map back."""
    names = _fitting_names(_names_of(call), NAME_RULES[format])
    tools = {spec.name: spec for spec in call.tools if spec.client_tool is not None}
    renamed = {wire: name for name, wire in names.items() if wire != name}
    if renamed:
        call = rename_tools(call, lambda name: names.get(name, name))
    return call, ToolNameMap(tools, renamed, _declarations(tools))


def rename_tools(call: ModelCall, rename: Callable[[str], str]) -> ModelCall:
    """The request with other names for its tools, wherever they occur."""
    choice = call.tool_choice
    return replace(
        call,
        tools=tuple(replace(spec, name=rename(spec.name)) for spec in call.tools),
        tool_choice=None if choice is None else _rename_choice(choice, rename),
        turns=tuple(
            replace(turn, parts=tuple(_rename_part(part, rename) for part in turn.parts))
            for turn in call.turns
        ),
    )


def as_functions(call: ModelCall) -> ModelCall:
    """The request with functions in place of tools that their client declared in another way."""
    if not any(map(_is_declared, (*call.tools, *_calls(call.turns)))):
        return call
    return replace(
        call,
        tools=tuple(replace(spec, client_tool=None) for spec in call.tools),
        turns=tuple(
            replace(turn, parts=tuple(_as_function(part) for part in turn.parts))
            for turn in call.turns
        ),
    )


def _declarations(tools: Mapping[str, ToolSpec]) -> dict[ClientTool, str]:
    return {spec.client_tool: name for name, spec in tools.items() if spec.client_tool is not None}


def _names_of(call: ModelCall) -> list[str]:
    """The names in a request: those of its tools first, as they are the same in each request."""
    called = [part.name for part in _calls(call.turns)]
    return list(dict.fromkeys([*(spec.name for spec in call.tools), *called]))


def _calls(turns: Iterable[Turn]) -> list[ToolCall | BrokenCall]:
    parts = (part for turn in turns for part in turn.parts)
    return [part for part in parts if isinstance(part, ToolCall | BrokenCall) and part.name]


def _fitting_names(names: list[str], rule: re.Pattern[str]) -> dict[str, str]:
    fitting = {name: name for name in names if rule.fullmatch(name)}
    for name in names:
        if name not in fitting:
            taken = set(fitting.values())
            fitting[name] = _unused_name(name, taken)
    return fitting


def _unused_name(name: str, taken: set[str]) -> str:
    """The name in allowed characters, with a digest of the whole; deterministic and unused."""
    clean = re.sub(r"[^a-zA-Z0-9_-]", "_", name)
    clean = clean if re.match(r"[a-zA-Z_]", clean) else f"_{clean}"
    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()
    for length in range(DIGEST, len(digest)):
        candidate = f"{clean[: MAX_NAME - length - 1]}_{digest[:length]}"
        if candidate not in taken:
            return candidate
    raise AssertionError("two names have the same digest")


def _rename_choice(choice: ToolChoice, rename: Callable[[str], str]) -> ToolChoice:
    name = rename(choice.name) if choice.name else ""
    return replace(choice, name=name, names=tuple(map(rename, choice.names)))


def _rename_part(part: Part, rename: Callable[[str], str]) -> Part:
    match part:
        case ToolCall(name=name) | BrokenCall(name=name) | ToolResult(name=name) if name:
            return replace(part, name=rename(name))
        case _:
            return part


def _as_function(part: Part) -> Part:
    return replace(part, client_tool=None) if isinstance(part, ToolCall) else part


def _is_declared(tool: ToolSpec | ToolCall | BrokenCall) -> bool:
    return not isinstance(tool, BrokenCall) and tool.client_tool is not None
