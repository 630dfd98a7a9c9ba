"""An answer of the mind as a reply in a vendor's manner: ids, reasoning, signatures, counts."""

from __future__ import annotations

import base64
import hashlib
import json
import random
import string
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from probes.messages import (
    JSON,
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
from simulators.mind import Answer
from simulators.minds.wishes import Wish

ALPHANUMERIC = string.ascii_letters + string.digits
LOWER = string.ascii_lowercase + string.digits
HEX = "0123456789abcdef"
_MARK = b"SIM1"

Shape = Callable[[str, ModelCall, random.Random], Reasoning]


@dataclass(frozen=True, slots=True)
class IdStyle:
    """How a vendor's ids look."""

    prefix: str
    length: int
    letters: str = ALPHANUMERIC
    indexed: bool = False

    def draw(self, rng: random.Random, index: int = 0) -> str:
        place = f"{index:02}_" if self.indexed else ""
        return self.prefix + place + "".join(rng.choices(self.letters, k=self.length))


@dataclass(frozen=True, slots=True)
class Manner:
    """What one vendor puts around what its model says."""

    format: str
    reply_ids: IdStyle
    call_ids: IdStyle
    shape: Shape | None = None
    fingerprint: str | None = None

    def reply(
        self, answer: Answer, call: ModelCall, rng: random.Random, *, thinks: bool, signs: bool
    ) -> Reply:
        """The reply that says what the mind wants to say."""
        parts: list[Part] = []
        if thinks and self.shape is not None:
            parts.append(self.shape(answer.thought, call, rng))
        if answer.text:
            parts.append(Text(answer.text))
        for index, wish in enumerate(answer.wishes):
            extra: Extra = {}
            if signs and index == 0:
                extra = {self.format: {"thoughtSignature": sign(answer.thought)}}
            parts.append(self._call(wish, index, extra, rng))
        return Reply(
            parts=tuple(parts),
            stop=Stop.TOOL_CALLS if answer.wishes else Stop.END,
            usage=_usage(call, parts),
            id=self.reply_ids.draw(rng),
            model=call.model,
            fingerprint=self.fingerprint,
        )

    def _call(self, wish: Wish, index: int, extra: Extra, rng: random.Random) -> ToolCall:
        return ToolCall(
            self.call_ids.draw(rng, index),
            wish.tool.name,
            dict(wish.arguments),
            "mind",
            arguments_text(wish.arguments),
            extra=extra,
        )


def arguments_text(arguments: Mapping[str, JSON]) -> str:
    return json.dumps(arguments, ensure_ascii=False, separators=(",", ":"))


def sign(text: str) -> str:
    """A signature that only this program issues."""
    digest = hashlib.sha256(b"simulators\n" + text.encode("utf-8", "surrogatepass")).digest()
    return base64.b64encode(_MARK + digest).decode()


def is_ours(signature: str) -> bool:
    """Whether a signature was issued here, in either alphabet of base64."""
    try:
        raw = base64.urlsafe_b64decode(signature.replace("+", "-").replace("/", "_"))
    except ValueError:
        return False
    return raw.startswith(_MARK) and len(raw) == len(_MARK) + 32


def as_field(name: str) -> Shape:
    """Reasoning as a string beside the content."""

    def shape(thought: str, call: ModelCall, rng: random.Random) -> Reasoning:
        return Reasoning(thought, ReasoningKind.FIELD, name)

    return shape


def as_block(thought: str, call: ModelCall, rng: random.Random) -> Reasoning:
    """Reasoning as Anthropic's signed block."""
    raw: JSON = {"type": "thinking", "thinking": thought, "signature": sign(thought)}
    return Reasoning(thought, ReasoningKind.BLOCK, raw)


def as_thought(thought: str, call: ModelCall, rng: random.Random) -> Reasoning:
    """Reasoning as a part of Gemini's."""
    return Reasoning(thought, ReasoningKind.THOUGHT, {"text": thought, "thought": True})


def as_item(thought: str, call: ModelCall, rng: random.Random) -> Reasoning:
    """Reasoning as an item of the Responses API, sealed where the client asks for that."""
    summary: list[JSON] = [{"type": "summary_text", "text": thought}]
    id_ = "rs_" + "".join(rng.choices(HEX, k=48))
    raw: dict[str, JSON] = {"id": id_, "type": "reasoning", "summary": summary}
    own = call.extra.get("openai_responses")
    wanted = own.get("include") if isinstance(own, Mapping) else None
    if isinstance(wanted, list) and "reasoning.encrypted_content" in wanted:
        raw["encrypted_content"] = sign(thought)
    return Reasoning(thought, ReasoningKind.ITEM, raw)


def _usage(call: ModelCall, parts: list[Part]) -> Usage:
    """Tokens by the rule of thumb: four characters each."""
    asked = len(str(call.turns)) + len(str(call.tools))
    return Usage(max(1, asked // 4), max(1, len(str(parts)) // 4))
