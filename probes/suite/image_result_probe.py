"""An image in a tool result, in the wire formats that have a place for it."""

from __future__ import annotations

import base64
import random
import re
import struct
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from probes.history.model_conversation import Conversation
from probes.messages import JSON, ToolResult
from probes.outcomes import Metric
from probes.suite.base import Answer, DrawnValues, Judgement, Question, Script
from probes.suite.probe_tools import PROBE_LOOK
from probes.suite.question_builder import QuestionBuilder
from probes.suite.random_words import draw_phrase
from probes.suite.script_steps import (
    ScriptSession,
    add_call_results,
    is_about_reasoning,
    start_conversation,
)

PROMPT = """\
Call the tool {tool} once, with name: {name}
Its result is a picture with a left and a right half, each of one colour.
When you have it, reply with the two colours, the left one first, without a further tool."""
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
    """Returns the same result as text and as an image."""

    name: str = "image_result"
    question: str = "Image results: does the model see an image in a tool result?"
    settles: str = "Whether tools can return images."
    passes: str = "The call arrives. Whether the image is seen, ignored or rejected is recorded."
    fails: str = "The call is missing or wrong, or even a text result is rejected."
    # The text result may take two requests if the endpoint requires its reasoning back.
    requests: int = 4
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
        if builder.format not in WRITERS:
            session.facts["image_result"] = "no place"
            return session.judge()
        described: Mapping[str, JSON] = {half: drawn.values[half] for half in ("left", "right")}
        add_call_results(conversation, turn, [(described, False)] * len(turn.calls))
        control = yield from session.ask(conversation, "with the result as text")
        if control.reply is None:
            return session.judge_refusal(control)
        session.note_deviations(control.reply)
        pictured = _with_pictures(conversation, builder.format, drawn)
        call = session.builder.call(pictured, session.tools)
        (answer,) = yield (Question(call, "with the result as an image"),)
        session.facts["image_result"] = _image_use(answer, pictured, drawn)
        return session.judge()


def _image_use(answer: Answer, conversation: Conversation, drawn: DrawnValues) -> str | None:
    """`used`, `unused` or `refused`; the same history with text in place of the image works."""
    if answer.refusal is not None:
        is_other = is_about_reasoning(conversation.turns, answer.refusal)
        return None if is_other else "refused"
    text = ((answer.reply.text if answer.reply else None) or "").lower()
    named = re.findall(rf"\b(?:{'|'.join(COLOURS)})\b", text)
    wanted = [drawn.values["left"], drawn.values["right"]]
    return "used" if list(dict.fromkeys(named)) == wanted else "unused"


def _with_pictures(conversation: Conversation, format: str, drawn: DrawnValues) -> Conversation:
    """The conversation with an image in place of the text of its last results."""
    left, right = (COLOURS[str(drawn.values[half])] for half in ("left", "right"))
    data = base64.b64encode(draw_png(left, right)).decode()
    results = conversation.turns[-1]
    parts = tuple(
        WRITERS[format](part, data) if isinstance(part, ToolResult) else part
        for part in results.parts
    )
    return Conversation([*conversation.turns[:-1], replace(results, parts=parts)])


def draw_png(left: tuple[int, int, int], right: tuple[int, int, int]) -> bytes:
    """A square picture of two colours."""
    row = b"\0" + bytes(left) * (SIZE // 2) + bytes(right) * (SIZE // 2)
    head = struct.pack(">IIBBBBB", SIZE, SIZE, 8, 2, 0, 0, 0)
    chunks = ((b"IHDR", head), (b"IDAT", zlib.compress(row * SIZE)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(kind, data) for kind, data in chunks)


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def _anthropic(result: ToolResult, data: str) -> ToolResult:
    source: JSON = {"type": "base64", "media_type": "image/png", "data": data}
    return replace(result, content="", blocks=({"type": "image", "source": source},))


def _responses(result: ToolResult, data: str) -> ToolResult:
    part: JSON = {"type": "input_image", "image_url": f"data:image/png;base64,{data}"}
    return replace(result, content="", extra={"openai_responses": {"output": [part]}})


def _gemini(result: ToolResult, data: str) -> ToolResult:
    part: JSON = {"inlineData": {"mimeType": "image/png", "data": data}}
    return replace(result, content="", extra={"gemini": {"functionResponse": {"parts": [part]}}})


# Chat Completions and Ollama have text results only. Servers of these formats answer an image with
# a server error, which would count against their availability.
WRITERS: Mapping[str, Callable[[ToolResult, str], ToolResult]] = {
    "anthropic": _anthropic,
    "openai_responses": _responses,
    "gemini": _gemini,
}
IMAGE_RESULT = ImageResultProbe()
