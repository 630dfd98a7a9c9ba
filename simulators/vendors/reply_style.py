"""Turns the model's answer into a vendor's reply: ids, reasoning, signatures, token counts."""

from __future__ import annotations

import base64
import hashlib
import json
import random
import string
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from probes.messages import (
    JSON,
    BrokenCall,
    Extra,
    ModelCall,
    Part,
    Reasoning,
    ReasoningKind,
    Reply,
    Stop,
    Text,
    ToolCall,
    Usage,
)
from simulators.model.answers import Answer
from simulators.model.prompted_tools import write_prompted_calls
from simulators.model.tool_requests import ToolRequest
from simulators.vendors import item_ids

ALPHANUMERIC = string.ascii_letters + string.digits
LOWER = string.ascii_lowercase + string.digits
HEX = "0123456789abcdef"
_MARK = b"SIM1"

Shape = Callable[[str, ModelCall, random.Random], Sequence[Part]]


@dataclass(frozen=True, slots=True)
class IdStyle:
    """How a vendor's ids look.

    `form` is the template after the prefix: random letters (`drawn`), the position of a call in
    its answer from 0 (`index`) or 1 (`place`), its `number` in the conversation, its tool's `name`.
    """

    prefix: str
    length: int
    letters: str = ALPHANUMERIC
    form: str = "{drawn}"

    def draw(self, rng: random.Random, index: int = 0, *, name: str = "", number: int = 0) -> str:
        drawn = "".join(rng.choices(self.letters, k=self.length))
        return self.prefix + self.form.format(
            drawn=drawn, index=index, place=index + 1, number=number, name=name
        )


CHAT_IDS = IdStyle("chatcmpl-", 29)
CALL_IDS = IdStyle("call_", 24)


@dataclass(frozen=True, slots=True)
class ReplyStyle:
    """How one vendor wraps its model's answers."""

    format: str
    reply_ids: IdStyle
    call_ids: IdStyle
    shape: Shape | None = None
    fingerprint: str | None = None

    def build_reply(
        self, answer: Answer, call: ModelCall, rng: random.Random, *, thinks: bool, signs: bool
    ) -> Reply:
        """Build the reply for a model's answer."""
        answer = _with_prompted_calls(answer)
        parts: list[Part] = []
        if thinks and self.shape is not None:
            parts += self.shape(answer.thought, call, rng)
        if answer.text:
            parts.append(Text(answer.text))
        previous_calls = count_calls_before(call)
        for index, tool_request in enumerate(answer.tool_requests):
            extra: Extra = {}
            if signs and index == 0:
                extra = {self.format: {"thoughtSignature": sign_text(answer.thought)}}
            id_ = self.call_ids.draw(
                rng, index, name=tool_request.tool.name, number=previous_calls + index
            )
            parts.append(_tool_call(tool_request, id_, extra))
        if self.format == item_ids.FORMAT:
            parts = item_ids.link_items(parts)
        return Reply(
            parts=tuple(parts),
            stop=Stop.TOOL_CALLS if answer.tool_requests else Stop.END,
            usage=_usage(call, parts),
            id=self.reply_ids.draw(rng),
            model=call.model,
            fingerprint=self.fingerprint,
        )


def _with_prompted_calls(answer: Answer) -> Answer:
    """The answer with its calls as text if the prompt describes how to write them."""
    if answer.prompted is None or not answer.tool_requests:
        return answer
    has_tags = answer.prompted.has_tags
    text = write_prompted_calls(answer.tool_requests, has_tags=has_tags)
    return replace(answer, text=text, tool_requests=())


def count_calls_before(call: ModelCall) -> int:
    """How many calls the conversation already contains."""
    parts = [part for turn in call.turns for part in turn.parts]
    return sum(isinstance(part, ToolCall | BrokenCall) for part in parts)


def arguments_text(arguments: Mapping[str, JSON]) -> str:
    return json.dumps(arguments, ensure_ascii=False, separators=(",", ":"))


def sign_text(text: str) -> str:
    """A signature that only this program issues."""
    digest = hashlib.sha256(b"simulators\n" + text.encode("utf-8", "surrogatepass")).digest()
    return base64.b64encode(_MARK + digest).decode()


def is_own_signature(signature: str) -> bool:
    """Whether a signature was issued here, in either alphabet of base64."""
    try:
        raw = base64.urlsafe_b64decode(signature.replace("+", "-").replace("/", "_"))
    except ValueError:
        return False
    return raw.startswith(_MARK) and len(raw) == len(_MARK) + 32


def reasoning_as_field(name: str) -> Shape:
    """Reasoning as a string next to the content."""

    def shape(thought: str, call: ModelCall, rng: random.Random) -> list[Part]:
        return [Reasoning(thought, ReasoningKind.FIELD, name)]

    return shape


def reasoning_as_block(thought: str, call: ModelCall, rng: random.Random) -> list[Part]:
    """Reasoning as Anthropic's signed block."""
    return [_thinking_block(thought, thought)]


def reasoning_as_omitted_block(thought: str, call: ModelCall, rng: random.Random) -> list[Part]:
    """A signed block whose text is omitted unless the client requests it."""
    thinking = _format_fields(call, "anthropic").get("thinking")
    is_visible = isinstance(thinking, Mapping) and thinking.get("display") == "summarized"
    return [_thinking_block(thought if is_visible else "", thought)]


def reasoning_as_thought(thought: str, call: ModelCall, rng: random.Random) -> list[Part]:
    """Reasoning as a Gemini part."""
    raw: JSON = {"text": thought, "thought": True}
    return [Reasoning(thought, ReasoningKind.THOUGHT, raw)]


def reasoning_as_item(thought: str, call: ModelCall, rng: random.Random) -> list[Part]:
    """Reasoning as an item of the Responses API, encrypted if the client requests it."""
    summary: list[JSON] = [{"type": "summary_text", "text": thought}]
    id_ = item_ids.make_reasoning_id(rng)
    raw: dict[str, JSON] = {"id": id_, "type": "reasoning", "summary": summary}
    include = _format_fields(call, item_ids.FORMAT).get("include")
    if isinstance(include, list) and "reasoning.encrypted_content" in include:
        raw["encrypted_content"] = sign_text(thought)
    return [Reasoning(thought, ReasoningKind.ITEM, raw)]


def reasoning_as_split(thought: str, call: ModelCall, rng: random.Random) -> list[Part]:
    """MiniMax: an array next to the content on request, otherwise think tags in the content."""
    if _format_fields(call, "openai").get("reasoning_split") is not True:
        return [Text(f"<think>\n{thought}\n</think>\n\n")]
    return [_reasoning_details(thought, "MiniMax-response-v1")]


def reasoning_as_relayed(thought: str, call: ModelCall, rng: random.Random) -> list[Part]:
    """OpenRouter: the same thoughts as a string and as an array."""
    field = Reasoning(thought, ReasoningKind.FIELD, "reasoning")
    return [field, _reasoning_details(thought, "unknown")]


def _format_fields(call: ModelCall, wire_format: str) -> Mapping[str, JSON]:
    """The fields of a request that are specific to its format."""
    fields = call.extra.get(wire_format)
    return fields if isinstance(fields, Mapping) else {}


def _thinking_block(visible: str, thought: str) -> Reasoning:
    raw: JSON = {"type": "thinking", "thinking": visible, "signature": sign_text(thought)}
    return Reasoning(visible, ReasoningKind.BLOCK, raw)


def _reasoning_details(thought: str, details_format: str) -> Reasoning:
    entry: dict[str, JSON] = {
        "type": "reasoning.text",
        "text": thought,
        "format": details_format,
        "index": 0,
    }
    return Reasoning(thought, ReasoningKind.DETAILS, [entry])


def _tool_call(tool_request: ToolRequest, id_: str, extra: Extra) -> ToolCall:
    arguments = dict(tool_request.arguments)
    return ToolCall(
        id_, tool_request.tool.name, arguments, "mind", arguments_text(arguments), extra=extra
    )


def _usage(call: ModelCall, parts: list[Part]) -> Usage:
    """Token counts by a rule of thumb: four characters per token."""
    prompt_length = len(str(call.turns)) + len(str(call.tools))
    return Usage(max(1, prompt_length // 4), max(1, len(str(parts)) // 4))
