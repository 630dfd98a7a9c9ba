from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from probes.arguments import read_arguments
from probes.errors import WireError
from probes.messages import (
    JSON,
    Breakage,
    BrokenCall,
    Deviation,
    Part,
    Reasoning,
    Reply,
    Stop,
    Text,
    ToolCall,
    Usage,
)

FORMAT = "openai"
STOPS = {
    "stop": Stop.END,
    "tool_calls": Stop.TOOL_CALLS,
    "function_call": Stop.TOOL_CALLS,
    "length": Stop.LENGTH,
    "content_filter": Stop.REFUSAL,
}
REASONING_FIELDS = ("reasoning_content", "reasoning")
MAX_CALLS = 64
MAX_TOKENS_COUNTED = 2**31 - 1
MESSAGE = "$.choices[0].message"


def read_reply(body: JSON) -> Reply:
    """The reply in a Chat Completions body, or a WireError with the path that breaks the format."""
    reading = _Reading()
    root = _mapping(body, "$")
    choice = reading.choice(root)
    stop = reading.stop(choice)
    parts = reading.parts(_mapping(choice.get("message"), MESSAGE), stop)
    reading.check_stop(choice, parts)
    return Reply(
        parts=parts,
        stop=stop,
        usage=_usage(root.get("usage")),
        model=_text_or_none(root.get("model")),
        fingerprint=_text_or_none(root.get("system_fingerprint")),
        deviations=tuple(reading.deviations),
        raw=root,
    )


@dataclass
class _Reading:
    """One pass over one body; collects where it bends the format."""

    deviations: list[Deviation] = field(default_factory=list)

    def note(self, name: str, path: str) -> None:
        self.deviations.append(Deviation(name, path))

    def choice(self, root: Mapping[str, JSON]) -> Mapping[str, JSON]:
        choices = _list(root.get("choices"), "$.choices")
        if not choices:
            raise WireError("The answer has no choices.", "$.choices")
        if len(choices) > 1:
            self.note("extra_choices", "$.choices")
        return _mapping(choices[0], "$.choices[0]")

    def stop(self, choice: Mapping[str, JSON]) -> Stop:
        reason = choice.get("finish_reason")
        if isinstance(reason, str) and reason in STOPS:
            return STOPS[reason]
        self.note("unknown_finish_reason", "$.choices[0].finish_reason")
        return Stop.OTHER

    def parts(self, message: Mapping[str, JSON], stop: Stop) -> tuple[Part, ...]:
        calls = self.calls(message)
        # The token limit cuts what was being written: the last call, even if its JSON looks whole.
        if stop is Stop.LENGTH and calls:
            calls[-1] = _truncated(calls[-1], len(calls) - 1)
        return (*_reasoning(message), *self.text(message), *calls)

    def text(self, message: Mapping[str, JSON]) -> list[Text]:
        content = message.get("content")
        if content is None:
            content = message.get("refusal")
        match content:
            case None:
                return []
            case str():
                return [Text(content)]
            case list():
                self.note("content_parts", f"{MESSAGE}.content")
                return [_content_part(part, index) for index, part in enumerate(content)]
            case _:
                raise WireError("The content is neither text nor null.", f"{MESSAGE}.content")

    def calls(self, message: Mapping[str, JSON]) -> list[ToolCall | BrokenCall]:
        path = f"{MESSAGE}.tool_calls"
        entries = message.get("tool_calls")
        items = [] if entries is None else _list(entries, path)
        if len(items) > MAX_CALLS:
            raise WireError(f"The answer has more than {MAX_CALLS} calls.", path)
        calls = [self.call(item, f"{path}[{index}]") for index, item in enumerate(items)]
        ids = [call.id for call in calls]
        if len(set(ids)) < len(ids):
            self.note("duplicate_id", path)
        if not calls and message.get("function_call") is not None:
            legacy = f"{MESSAGE}.function_call"
            self.note("legacy_function_call", legacy)
            calls = [self.function("", message["function_call"], legacy)]
        return calls

    def call(self, item: JSON, path: str) -> ToolCall | BrokenCall:
        entry = _mapping(item, path)
        if entry.get("type") != "function":
            self.note("call_type", f"{path}.type")
        id_ = entry.get("id")
        if not isinstance(id_, str) or not id_:
            self.note("missing_id", f"{path}.id")
            id_ = ""
        return self.function(id_, entry.get("function"), f"{path}.function")

    def function(self, id_: str, item: JSON, path: str) -> ToolCall | BrokenCall:
        entry = _mapping(item, path)
        name = entry.get("name")
        if not isinstance(name, str) or not name:
            raise WireError("A call has no tool name.", f"{path}.name")
        at = f"{path}.arguments"
        raw = self.raw_arguments(entry.get("arguments"), at)
        id_ = id_ or _mint(path, name, raw)
        arguments = read_arguments(raw)
        for key in arguments.duplicate_keys:
            self.note("duplicate_key", f"{at}.{key}")
        if arguments.value is None:
            return BrokenCall(raw, arguments.error, Breakage.INVALID_JSON, name, id_, at)
        return ToolCall(id_, name, arguments.value, FORMAT, raw)

    def raw_arguments(self, value: JSON, path: str) -> str:
        if isinstance(value, str):
            return value
        if value is None:
            self.note("arguments_null", path)
            return ""
        self.note("arguments_object" if isinstance(value, Mapping) else "arguments_type", path)
        return json.dumps(value, ensure_ascii=False)

    def check_stop(self, choice: Mapping[str, JSON], parts: Sequence[Part]) -> None:
        called = any(isinstance(part, ToolCall | BrokenCall) for part in parts)
        reason = choice.get("finish_reason")
        if reason == "stop" and called:
            self.note("stop_with_calls", "$.choices[0].finish_reason")
        if reason == "tool_calls" and not called:
            self.note("tool_calls_missing", f"{MESSAGE}.tool_calls")


def _truncated(call: ToolCall | BrokenCall, index: int) -> BrokenCall:
    error = "The call was cut off by the token limit."
    path = f"{MESSAGE}.tool_calls[{index}].function.arguments"
    return BrokenCall(call.raw, error, Breakage.TRUNCATED_CALL, call.name, call.id, path)


def _reasoning(message: Mapping[str, JSON]) -> list[Reasoning]:
    for name in REASONING_FIELDS:
        value = message.get(name)
        if isinstance(value, str):
            return [Reasoning(value, name)]
    return []


def _content_part(part: JSON, index: int) -> Text:
    match part:
        case {"type": "text", "text": str(text)}:
            return Text(text)
        case _:
            raise WireError("A content part is not text.", f"{MESSAGE}.content[{index}]")


def _mint(path: str, name: str, raw: str) -> str:
    seed = f"{path}\n{name}\n{raw}".encode("utf-8", "surrogatepass")
    return f"call_{hashlib.sha256(seed).hexdigest()[:24]}"


def _usage(value: JSON) -> Usage:
    if not isinstance(value, Mapping):
        return Usage()
    return Usage(_count(value.get("prompt_tokens")), _count(value.get("completion_tokens")))


def _count(value: JSON) -> int | None:
    if isinstance(value, bool) or not isinstance(value, int):
        return None
    return value if 0 <= value <= MAX_TOKENS_COUNTED else None


def _mapping(value: JSON, path: str) -> Mapping[str, JSON]:
    if not isinstance(value, Mapping):
        raise WireError("There is no object where the format wants one.", path)
    return value


def _list(value: JSON, path: str) -> list[JSON]:
    if not isinstance(value, list):
        raise WireError("There is no list where the format wants one.", path)
    return value


def _text_or_none(value: JSON) -> str | None:
    return value if isinstance(value, str) else None
