"""Histories that a vendor refuses because a call has no result, or a result no call.

The rules read the request as it was sent, because vendors' messages quote its indexes. They run
after the adapter has parsed it: its outer shape is valid, but inner fields can have any type.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile

from probes.adapters.gemini.content_parts import camel_case_fields
from probes.adapters.json_fields import list_or_empty, object_or_empty, text_or_empty
from probes.messages import JSON
from simulators.vendors.error_envelopes import RequestRefused

Body = Mapping[str, JSON]


@dataclass(frozen=True, slots=True)
class ChatClosure:
    """The rule of Chat Completions: results directly after their calls, one per call.

    In the messages, `{ids}` are the calls without a result, `{id}` is the result without a call,
    and `{index}` is the position of the message that should have been a result.
    """

    missing: str = (
        "An assistant message with 'tool_calls' must be followed by tool messages responding to "
        "each 'tool_call_id'. The following tool_call_ids did not have response messages: {ids}"
    )
    orphan: str = (
        "Invalid parameter: messages with role 'tool' must be a response to a preceeding message "
        "with 'tool_calls'."
    )
    unknown: str = (
        "Invalid parameter: 'tool_call_id' of '{id}' not found in 'tool_calls' of previous message."
    )

    def check(self, body: Body) -> None:
        """Raise RequestRefused for the first message that breaks the rule."""
        pending_ids: list[str] | None = None
        messages = list_or_empty(body.get("messages"))
        for index, item in enumerate(messages):
            message = object_or_empty(item)
            if message.get("role") == "tool":
                self._accept_result(text_or_empty(message.get("tool_call_id")), pending_ids, index)
                continue
            self._require_none_pending(pending_ids, index)
            calls = [object_or_empty(call) for call in list_or_empty(message.get("tool_calls"))]
            pending_ids = [text_or_empty(call.get("id")) for call in calls] or None
        self._require_none_pending(pending_ids, len(messages))

    def _accept_result(self, id_: str, pending_ids: list[str] | None, index: int) -> None:
        param = f"messages.[{index}].role"
        if pending_ids is None:
            raise RequestRefused(self.orphan.replace("{id}", id_), param=param)
        if id_ not in pending_ids:
            raise RequestRefused(self.unknown.replace("{id}", id_), param=param)
        pending_ids.remove(id_)

    def _require_none_pending(self, pending_ids: list[str] | None, index: int) -> None:
        if pending_ids:
            text = self.missing.replace("{ids}", ", ".join(pending_ids)).replace(
                "{index}", str(index)
            )
            raise RequestRefused(text, param=f"messages.[{index}].role")


OPENAI_CLOSURE = ChatClosure()
_DEEPSEEK_ORPHAN = (
    "Messages with role 'tool' must be a response to a preceding message with 'tool_calls'"
)
DEEPSEEK_CLOSURE = ChatClosure(
    missing="An assistant message with 'tool_calls' must be followed by tool messages responding "
    "to each 'tool_call_id'. (insufficient tool messages following tool_calls message)",
    orphan=_DEEPSEEK_ORPHAN,
    unknown=_DEEPSEEK_ORPHAN,
)

_DASHSCOPE = "<400> InternalError.Algo.InvalidParameter: "
_DASHSCOPE_ORPHAN = (
    f'{_DASHSCOPE}messages with role "tool" must be a response to a preceeding message with '
    '"tool_calls".'
)
DASHSCOPE_CLOSURE = ChatClosure(
    missing=f'{_DASHSCOPE}An assistant message with "tool_calls" must be followed by tool messages '
    'responding to each "tool_call_id". The following tool_call_ids did not have response '
    "messages: message[{index}].role",
    orphan=_DASHSCOPE_ORPHAN,
    unknown=_DASHSCOPE_ORPHAN,
)
_KIMI_ORPHAN = (
    "tool message tool_call_id '{id}' does not match any tool call in the preceding assistant "
    "messages"
)
KIMI_CLOSURE = ChatClosure(
    missing="an assistant message with 'tool_calls' must be followed by tool messages responding "
    "to each 'tool_call_id'. The following tool_call_ids did not have response messages: {ids}",
    orphan=_KIMI_ORPHAN,
    unknown=_KIMI_ORPHAN,
)


def check_anthropic_closure(body: Body) -> None:
    """Every tool_use has one tool_result at the start of the next message, and vice versa."""
    messages = [object_or_empty(item) for item in list_or_empty(body.get("messages"))]
    seen: set[str] = set()
    for index, message in enumerate(messages):
        uses = _read_block_ids(message, "tool_use", "id")
        for place, id_ in uses:
            if id_ in seen:
                where = f"messages.{index}.content.{place}"
                raise RequestRefused(f"{where}: `tool_use` ids must be unique")
            seen.add(id_)
        previous_uses = _read_block_ids(messages[index - 1], "tool_use", "id") if index else []
        _check_orphans(index, message, {id_ for _, id_ in previous_uses})
        next_message = messages[index + 1] if index + 1 < len(messages) else {}
        answered = _leading_results(next_message)
        if missing := [id_ for _, id_ in uses if id_ not in answered]:
            raise RequestRefused(
                f"messages.{index}: `tool_use` ids were found without `tool_result` blocks "
                f"immediately after: {', '.join(missing)}. Each `tool_use` block must have a "
                "corresponding `tool_result` block in the next message."
            )


def _leading_results(message: Body) -> set[str]:
    """The ids of the results before any other block."""
    blocks = [object_or_empty(block) for block in list_or_empty(message.get("content"))]
    results = takewhile(lambda block: block.get("type") == "tool_result", blocks)
    return {text_or_empty(block.get("tool_use_id")) for block in results}


def check_responses_closure(body: Body) -> None:
    """Every function_call has its output, and every output its call, matched by call_id."""
    items = [object_or_empty(item) for item in list_or_empty(body.get("input"))]
    calls = _call_ids(items, "function_call")
    outputs = _call_ids(items, "function_call_output")
    for place, id_ in enumerate(outputs):
        if id_ not in calls:
            text = f"No tool call found for function call output with call_id {id_}."
            raise RequestRefused(text, param="input")
        if id_ in outputs[:place]:
            raise RequestRefused(
                f"Duplicate function_call_output for call_id '{id_}'. Each function_call must have "
                "exactly one matching function_call_output",
                param="input",
            )
    for id_ in calls:
        if id_ not in outputs:
            raise RequestRefused(f"No tool output found for function call {id_}.", param="input")


def check_gemini_closure(body: Body) -> None:
    """As many responses as calls, in the turn directly after them."""
    previous_calls: Sequence[str] = ()
    previous_role = ""
    for content in read_contents(body):
        calls = ["call" for part in read_parts(content) if "functionCall" in part]
        results = ["result" for part in read_parts(content) if "functionResponse" in part]
        if calls and previous_role in ("", "model"):
            raise RequestRefused(
                "Please ensure that function call turn comes immediately after a user turn or "
                "after a function response turn."
            )
        if results and not previous_calls:
            raise RequestRefused(
                "Please ensure that function response turn comes immediately after a function "
                "call turn."
            )
        if previous_calls and len(results) != len(previous_calls):
            raise _count_mismatch()
        previous_calls, previous_role = calls, text_or_empty(content.get("role")) or "user"
    if previous_calls:
        raise _count_mismatch()


def read_contents(body: Body) -> list[Body]:
    """Gemini's contents as objects."""
    return [object_or_empty(item) for item in list_or_empty(body.get("contents"))]


def read_parts(content: Body) -> list[dict[str, JSON]]:
    """The parts of a content, their fields in camel case."""
    return [
        camel_case_fields(object_or_empty(part)) for part in list_or_empty(content.get("parts"))
    ]


def _count_mismatch() -> RequestRefused:
    return RequestRefused(
        "Please ensure that the number of function response parts is equal to the number of "
        "function call parts of the function call turn."
    )


def _check_orphans(index: int, message: Body, call_ids: set[str]) -> None:
    seen: set[str] = set()
    for place, id_ in _read_block_ids(message, "tool_result", "tool_use_id"):
        where = f"messages.{index}.content.{place}"
        if id_ not in call_ids:
            raise RequestRefused(
                f"{where}: unexpected `tool_use_id` found in `tool_result` blocks: {id_}. Each "
                "`tool_result` block must have a corresponding `tool_use` block in the previous "
                "message."
            )
        if id_ in seen:
            raise RequestRefused(
                f"{where}: each tool_use must have a single result. Found multiple `tool_result` "
                f"blocks with id: {id_}"
            )
        seen.add(id_)


def _read_block_ids(message: Body, kind: str, key: str) -> list[tuple[int, str]]:
    return list(_iter_block_ids(list_or_empty(message.get("content")), kind, key))


def _iter_block_ids(blocks: Sequence[JSON], kind: str, key: str) -> Iterator[tuple[int, str]]:
    for place, block in enumerate(blocks):
        entry = object_or_empty(block)
        if entry.get("type") == kind:
            yield place, text_or_empty(entry.get(key))


def _call_ids(items: Sequence[Body], kind: str) -> list[str]:
    return [text_or_empty(item.get("call_id")) for item in items if item.get("type") == kind]
