from __future__ import annotations

import base64
import json
import random
import struct
import zlib
from typing import Any

import pytest

from probes.adapters import FORMATS, adapter_for
from probes.dialects import DIALECTS
from probes.errors import TransportError
from probes.outcomes import FindingKind
from probes.suite.base import Answer, DrawnValues
from probes.suite.image_result_probe import COLOURS, IMAGE_RESULT, draw_png
from probes.suite.question_builder import QuestionBuilder
from probes.target import Provider
from tests.probes.suite.script_player import (
    DEEPSEEK,
    OPENAI,
    ScriptedAnswer,
    call,
    calls,
    play,
    prose,
    refusal,
    thought,
)


def builder_for(provider: Provider) -> QuestionBuilder:
    return QuestionBuilder("m", DIALECTS[provider], adapter_for(provider).format)


ANTHROPIC, RESPONSES = builder_for(Provider.ANTHROPIC), builder_for(Provider.OPENAI_RESPONSES)
GEMINI, OLLAMA = builder_for(Provider.GEMINI), builder_for(Provider.OLLAMA)
DRAWN = DrawnValues({"name": "amber 1", "left": "red", "right": "blue"})
LOOK = call("probe_look", {"name": "amber 1"})
TEXT_USED = prose("Red and blue.")
PNG = base64.b64encode(draw_png(COLOURS["red"], COLOURS["blue"])).decode()


IN_RESULT, IN_USER_TURN = "with the result as an image", "with the image in a user message"
SEEN = prose("The left half is red, the right half is blue.")
BLIND = prose("I cannot see pictures.")
REFUSED = refusal(FindingKind.PROVIDER_ERROR, "image_url is not supported")
BROKEN = Answer(broken=TransportError("The endpoint closed the connection without an answer."))
every_format = pytest.mark.parametrize(
    "builder", [OPENAI, ANTHROPIC, RESPONSES, GEMINI, OLLAMA], ids=lambda b: b.format
)


@pytest.mark.parametrize(
    ("answer", "use"),
    [
        (SEEN, "used"),
        (prose("Red, blue. So: red left, blue right."), "used"),
        (refusal(FindingKind.REPLAY_ITEM), None),
        (BROKEN, None),
    ],
)
def test_what_happens_to_an_image_is_noted(answer: ScriptedAnswer, use: str | None) -> None:
    """It is a limit of the endpoint: the attempt passes, and no metric counts the image."""
    played = play(IMAGE_RESULT, DRAWN, calls(LOOK), TEXT_USED, answer, builder=RESPONSES)

    assert (played.outcome, played.kinds) == ("pass", [])
    assert played.facts["image_result"] == use
    assert played.trials["closure_error"] == [True]


@pytest.mark.parametrize(
    ("in_result", "in_user_turn", "use"),
    [
        (prose("blue, red"), BLIND, "unused"),
        (prose("red"), BLIND, "unused"),
        (prose("Red, green or blue?"), BLIND, "unused"),
        (prose("I see a bluebird and a redhead."), BLIND, "unused"),
        (calls(LOOK), BLIND, "unused"),
        (BLIND, REFUSED, "unused"),
        (BLIND, BROKEN, "unused"),
        (REFUSED, BLIND, "refused"),
        (REFUSED, REFUSED, "refused"),
        (REFUSED, SEEN, "used_in_user_turn"),
        (BLIND, SEEN, "used_in_user_turn"),
    ],
)
@every_format
def test_an_image_that_fails_as_a_result_is_sent_in_a_user_message(
    builder: QuestionBuilder, in_result: ScriptedAnswer, in_user_turn: ScriptedAnswer, use: str
) -> None:
    """Where a client has to put it, or what happens to it in a result."""
    answers = (calls(LOOK), TEXT_USED, in_result, in_user_turn)
    played = play(IMAGE_RESULT, DRAWN, *answers, builder=builder)

    assert (played.outcome, played.kinds) == ("pass", [])
    assert played.facts["image_result"] == use
    assert played.trials["closure_error"] == [True]


def test_a_refused_parameter_beside_reasoning_is_the_image() -> None:
    """GLM says no more than that; the same reasoning was accepted beside the text."""
    refused = refusal(FindingKind.PARAM_UNKNOWN)
    answers = (calls(thought(), LOOK), TEXT_USED, refused, refused)
    played = play(IMAGE_RESULT, DRAWN, *answers, builder=DEEPSEEK)

    assert played.facts["image_result"] == "refused"


def test_the_colours_are_in_the_picture_alone() -> None:
    """The image takes the place of the text, which was accepted before."""
    played = play(IMAGE_RESULT, DRAWN, calls(LOOK), TEXT_USED, BLIND, SEEN, builder=RESPONSES)

    (text,) = played.call("with the result as text").turns[-1].results
    assert json.loads(text.content) == {"left": "red", "right": "blue"}
    for label in (IN_RESULT, IN_USER_TURN):
        pictured = played.call(label)
        assert PNG in str(pictured.turns)
        assert not any(colour in str(pictured.turns) for colour in ("red", "blue"))


@every_format
def test_a_wire_format_carries_the_image(builder: QuestionBuilder) -> None:
    """In the body of the request, with nothing lost, in both places."""
    played = play(IMAGE_RESULT, DRAWN, calls(LOOK), TEXT_USED, BLIND, SEEN, builder=builder)

    adapter = FORMATS[builder.format]
    for label in (IN_RESULT, IN_USER_TURN):
        pictured = played.call(label)
        assert json.dumps(adapter.write_request(pictured)).count(PNG) == 1
        assert adapter.losses(pictured) == adapter.losses(played.call("with the result as text"))


def test_chat_completions_and_ollama_have_their_images_where_servers_look_for_them() -> None:
    """A part of the content, and a field of the message; in the message after the result too."""
    chat, ollama = (
        [messages(builder, label) for label in (IN_RESULT, IN_USER_TURN)]
        for builder in (OPENAI, OLLAMA)
    )

    image = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PNG}"}}
    assert chat[0][-1]["role"] == "tool"
    assert chat[0][-1]["content"] == [image]
    assert chat[1][-1]["role"] == "user"
    assert chat[1][-1]["content"][1:] == [image]
    assert [body[-1]["images"] for body in ollama] == [[PNG], [PNG]]
    assert [body[-1]["role"] for body in ollama] == ["tool", "user"]
    assert all(body[-2]["role"] == "tool" for body in (chat[1], ollama[1]))


def messages(builder: QuestionBuilder, label: str) -> Any:
    played = play(IMAGE_RESULT, DRAWN, calls(LOOK), TEXT_USED, BLIND, SEEN, builder=builder)
    return FORMATS[builder.format].write_request(played.call(label))["messages"]


def test_a_server_error_is_expected_for_an_image_alone() -> None:
    """Not for the same result as text, which must work."""
    played = play(IMAGE_RESULT, DRAWN, calls(LOOK), TEXT_USED, REFUSED, SEEN)

    assert [question.label for question in played.questions if question.may_fail] == [
        IN_RESULT,
        IN_USER_TURN,
    ]


def test_a_call_that_does_not_fit_says_nothing_about_images() -> None:
    """No client has a result for it."""
    played = play(IMAGE_RESULT, DRAWN, calls(call("probe_look", {"name": 7})))

    assert (played.outcome, played.kinds) == ("fail", ["schema_mismatch"])
    assert "image_result" not in played.facts


def test_a_picture_is_a_png_of_two_halves() -> None:
    """Whole, with its check sums, and small."""
    png = draw_png((1, 2, 3), (4, 5, 6))

    assert png.startswith(b"\x89PNG\r\n\x1a\n")
    assert len(png) < 300
    width, height = struct.unpack(">II", png[16:24])
    start = png.index(b"IDAT")
    (length,) = struct.unpack(">I", png[start - 4 : start])
    body = png[start : start + 4 + length]
    (sum_,) = struct.unpack(">I", png[start + 4 + length : start + 8 + length])
    assert zlib.crc32(body) == sum_
    rows = zlib.decompress(body[4:])
    assert len(rows) == height * (3 * width + 1)
    assert rows[1:4] + rows[3 * width - 2 : 3 * width + 1] == bytes([1, 2, 3, 4, 5, 6])


def test_two_different_colours_are_drawn() -> None:
    """A guess is right in one of thirty cases."""
    pairs = {
        (values["left"], values["right"])
        for values in (IMAGE_RESULT.draw(random.Random(seed)).values for seed in range(600))
    }

    assert len(pairs) == 30
    assert all(left != right for left, right in pairs)


@pytest.mark.parametrize(
    ("answers", "outcome", "kinds"),
    [
        ([prose()], "fail", ["no_call"]),
        ([calls(LOOK), refusal(FindingKind.CLOSURE_MISSING)], "fail", ["closure_missing"]),
        ([calls(LOOK), refusal(FindingKind.PROVIDER_ERROR)], "void", ["provider_error"]),
        ([refusal(FindingKind.PROVIDER_ERROR)], "void", ["provider_error"]),
    ],
)
def test_without_a_call_or_its_text_result_nothing_is_known_about_images(
    answers: list[ScriptedAnswer], outcome: str, kinds: list[str]
) -> None:
    """The image is not even sent."""
    played = play(IMAGE_RESULT, DRAWN, *answers, builder=RESPONSES)

    assert (played.outcome, played.kinds) == (outcome, kinds)
    assert "image_result" not in played.facts


def test_a_wrong_call_fails_whatever_happens_to_the_image() -> None:
    """The name of the picture was given."""
    wrong = call("probe_look", {"name": "amber 2"})

    played = play(
        IMAGE_RESULT, DRAWN, calls(wrong), TEXT_USED, prose("red, blue"), builder=RESPONSES
    )

    assert (played.outcome, played.kinds) == ("fail", ["wrong_value"])
    assert played.facts["image_result"] == "used"
