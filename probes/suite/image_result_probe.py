"""An image in a tool result, or in the user message after it."""

from __future__ import annotations

import base64
import random
import re
import struct
import zlib
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, replace

from probes.history.model_conversation import Conversation
from probes.messages import JSON, Opaque, Role, Text, ToolResult, Turn
from probes.outcomes import Metric
from probes.suite.base import Answer, DrawnValues, Judgement, Question, Script
from probes.suite.probe_tools import PROBE_LOOK
from probes.suite.question_builder import QuestionBuilder
from probes.suite.random_words import draw_phrase
from probes.suite.script_steps import (
    REPLAY_KINDS,
    ScriptSession,
    add_call_results,
    start_conversation,
)

PROMPT = """\
Call the tool {tool} once, with name: {name}
Its result is a picture with a left and a right half, each of one colour.
When you have it, reply with the two colours, the left one first, without a further tool."""
# In place of a result whose image is in the next message, and the text beside that image.
POINTER = "The picture is in the next message."
CAPTION = "This is the picture from the result."
COLOURS = {
    "red": (220, 20, 20),
    "green": (0, 140, 50),
    "blue": (20, 50, 220),
    "yellow": (250, 220, 0),
    "black": (0, 0, 0),
    "white": (255, 255, 255),
}
SIZE = 64


@dataclass(frozen=True, slots=True)
class ImageResultProbe:
    """Returns the same result as text, as an image, and as an image in a user message."""

    name: str = "image_result"
    question: str = "Image results: does the model see an image in a tool result?"
    settles: str = "Whether tools can return images, and where a client has to put them."
    passes: str = "The call arrives. Whether the image is seen, ignored or rejected is recorded."
    fails: str = "The call is missing or wrong, or even a text result is rejected."
    # The text result may take two requests if the endpoint requires its reasoning back.
    requests: int = 5
    refusal_metrics: tuple[Metric, ...] = (Metric.PARSE_SUCCESS,)

    def draw(self, rng: random.Random) -> DrawnValues:
        left, right = rng.sample(sorted(COLOURS), 2)
        return DrawnValues({"name": draw_phrase(rng), "left": left, "right": right})

    def script(self, drawn: DrawnValues, builder: QuestionBuilder) -> Script:
        session = ScriptSession(builder, (PROBE_LOOK,))
        name = drawn.values["name"]
        conversation = start_conversation(PROMPT.format(tool=PROBE_LOOK.name, name=name))
        turn = yield from session.ask_for_calls(conversation, self.refusal_metrics)
        if isinstance(turn, Judgement):
            return turn
        session.check_values(turn, [(PROBE_LOOK.name, {"name": name})])
        if turn.unfit:
            # No client has a result for a call that was not offered or does not fit.
            return session.judge()
        described: Mapping[str, JSON] = {half: drawn.values[half] for half in ("left", "right")}
        add_call_results(conversation, turn, [(described, False)] * len(turn.calls))
        control = yield from session.ask(conversation, "with the result as text")
        if control.reply is None:
            return session.judge_refusal(control)
        session.note_deviations(control.reply)
        session.facts["image_result"] = yield from _ask_with_image(session, conversation, drawn)
        return session.judge()


def _ask_with_image(
    session: ScriptSession, conversation: Conversation, drawn: DrawnValues
) -> Generator[Sequence[Question], Sequence[Answer], str | None]:
    """How the image is used; the same history with text in place of the image works.

    A user message right after the result is asked about only if the result is not the place.
    """
    wire_format = session.builder.format
    in_result = _with_image_results(conversation, wire_format, drawn)
    use = yield from _ask_about(session, in_result, "with the result as an image", drawn)
    if use in (None, "used"):
        return use
    in_user_turn = _with_user_image(conversation, wire_format, drawn)
    label = "with the image in a user message"
    is_used = (yield from _ask_about(session, in_user_turn, label, drawn)) == "used"
    return "used_in_user_turn" if is_used else use


def _ask_about(
    session: ScriptSession, conversation: Conversation, label: str, drawn: DrawnValues
) -> Generator[Sequence[Question], Sequence[Answer], str | None]:
    call = session.builder.call(conversation, session.tools)
    (answer,) = yield (Question(call, label, may_fail=True),)
    return _image_use(answer, drawn)


def _image_use(answer: Answer, drawn: DrawnValues) -> str | None:
    """`used`, `unused` or `refused`; None if the answer says nothing about the image."""
    if answer.broken is not None:
        return None
    if answer.refusal is not None:
        # The reasoning of the same history was accepted before.
        return None if answer.refusal.kind in REPLAY_KINDS else "refused"
    text = ((answer.reply.text if answer.reply else None) or "").lower()
    named = re.findall(rf"\b(?:{'|'.join(COLOURS)})\b", text)
    wanted = [drawn.values["left"], drawn.values["right"]]
    return "used" if list(dict.fromkeys(named)) == wanted else "unused"


def _with_image_results(
    conversation: Conversation, wire_format: str, drawn: DrawnValues
) -> Conversation:
    """The conversation with an image in place of the text of its last results."""
    data, write = _encode_image(drawn), RESULT_WRITERS[wire_format]
    return _with_results(conversation, lambda result: write(result, data))


def _with_user_image(
    conversation: Conversation, wire_format: str, drawn: DrawnValues
) -> Conversation:
    """The conversation with a pointer in place of its last results, and the image behind them."""
    pointed = _with_results(conversation, lambda result: replace(result, content=POINTER))
    pointed.turns.append(USER_WRITERS[wire_format](_encode_image(drawn)))
    return pointed


def _with_results(
    conversation: Conversation, change: Callable[[ToolResult], ToolResult]
) -> Conversation:
    results = conversation.turns[-1]
    parts = tuple(change(p) if isinstance(p, ToolResult) else p for p in results.parts)
    return Conversation([*conversation.turns[:-1], replace(results, parts=parts)])


def _encode_image(drawn: DrawnValues) -> str:
    left, right = (COLOURS[str(drawn.values[half])] for half in ("left", "right"))
    return base64.b64encode(draw_png(left, right)).decode()


def draw_png(left: tuple[int, int, int], right: tuple[int, int, int]) -> bytes:
    """A square picture of two colours."""
    row = b"\0" + bytes(left) * (SIZE // 2) + bytes(right) * (SIZE // 2)
    head = struct.pack(">IIBBBBB", SIZE, SIZE, 8, 2, 0, 0, 0)
    chunks = ((b"IHDR", head), (b"IDAT", zlib.compress(row * SIZE)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(kind, data) for kind, data in chunks)


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def _anthropic_image(data: str) -> JSON:
    source: JSON = {"type": "base64", "media_type": "image/png", "data": data}
    return {"type": "image", "source": source}


def _chat_image(data: str) -> JSON:
    return {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{data}"}}


def _responses_image(data: str) -> JSON:
    return {"type": "input_image", "image_url": f"data:image/png;base64,{data}"}


def _gemini_image(data: str) -> JSON:
    return {"inlineData": {"mimeType": "image/png", "data": data}}


def _anthropic_result(result: ToolResult, data: str) -> ToolResult:
    return replace(result, content="", blocks=(_anthropic_image(data),))


def _chat_result(result: ToolResult, data: str) -> ToolResult:
    return replace(result, content="", extra={"openai": {"content": [_chat_image(data)]}})


def _responses_result(result: ToolResult, data: str) -> ToolResult:
    extra: JSON = {"output": [_responses_image(data)]}
    return replace(result, content="", extra={"openai_responses": extra})


def _gemini_result(result: ToolResult, data: str) -> ToolResult:
    extra: JSON = {"functionResponse": {"parts": [_gemini_image(data)]}}
    return replace(result, content="", extra={"gemini": extra})


def _ollama_result(result: ToolResult, data: str) -> ToolResult:
    return replace(result, content="", extra={"ollama": {"images": [data]}})


def _ollama_turn(data: str) -> Turn:
    return Turn(Role.USER, (Text(CAPTION),), extra={"ollama": {"images": [data]}})


def _turn_writer(wire_format: str, image: Callable[[str], JSON]) -> Callable[[str], Turn]:
    return lambda data: Turn(Role.USER, (Text(CAPTION), Opaque(wire_format, image(data))))


# An image as a result. Chat Completions promises text results only, but some of its servers take
# images there; Ollama has a field for images in messages of every role.
RESULT_WRITERS: Mapping[str, Callable[[ToolResult, str], ToolResult]] = {
    "anthropic": _anthropic_result,
    "openai": _chat_result,
    "openai_responses": _responses_result,
    "gemini": _gemini_result,
    "ollama": _ollama_result,
}
# A user message with an image.
USER_WRITERS: Mapping[str, Callable[[str], Turn]] = {
    "anthropic": _turn_writer("anthropic", _anthropic_image),
    "openai": _turn_writer("openai", _chat_image),
    "openai_responses": _turn_writer("openai_responses", _responses_image),
    "gemini": _turn_writer("gemini", _gemini_image),
    "ollama": _ollama_turn,
}
IMAGE_RESULT = ImageResultProbe()
