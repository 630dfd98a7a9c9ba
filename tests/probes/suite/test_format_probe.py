from __future__ import annotations

import random

import pytest

from probes.messages import JSON, Deviation, Reply, Stop, Text
from probes.suite.base import DrawnValues, rng_for
from probes.suite.format_probe import FORMAT
from tests.probes.suite.script_player import OPENAI, call, calls, play, prose

DRAWN = DrawnValues({"message": 'amber 4711 "fjord"', "tag": "beta"})
GOOD: dict[str, JSON] = dict(DRAWN.values)


def test_the_call_asked_for_passes() -> None:
    """One structured call with the drawn values passes."""
    played = play(FORMAT, DRAWN, calls(call("probe_echo", GOOD)))

    assert (played.outcome, played.kinds) == ("pass", [])
    assert played.facts == {"formats": ["openai"], "turns": {"whole": ["works"]}}
    assert played.trials["parse_success"] == [True]


@pytest.mark.parametrize(
    ("reply", "kinds", "schema"),
    [
        (prose(), ["no_call"], None),
        (calls(call("probe_echo", {**GOOD, "tag": "gamma"})), ["schema_mismatch"], [False]),
        (calls(call("probe_echo", {**GOOD, "message": "amber"})), ["wrong_value"], [True]),
        (calls(call("probe_echo", {**GOOD, "tag": "alpha"})), ["wrong_value"], [True]),
        (calls(call("probe_echo", GOOD), call("probe_echo", GOOD)), ["extra_call"], [True] * 2),
        (calls(call("echo", GOOD)), ["unknown_tool"], [False]),
    ],
)
def test_anything_but_that_call_fails(
    reply: Reply, kinds: list[str], schema: list[bool] | None
) -> None:
    """Valid but wrong values fail the probe and not the schema."""
    played = play(FORMAT, DRAWN, reply)

    assert (played.outcome, played.kinds) == ("fail", kinds)
    assert played.trials.get("schema_failure") == schema


def test_a_deviation_is_told_and_does_not_fail() -> None:
    """A readable deviation from the format is a fact, not a failure."""
    bent = (Deviation("missing_id", "$.x"), Deviation("missing_id", "$.y"))

    played = play(FORMAT, DRAWN, Reply((call("probe_echo", GOOD),), Stop.END, deviations=bent))

    assert (played.outcome, played.kinds) == ("pass", [])
    assert played.facts["deviations"] == {"whole": ["missing_id"]}


def test_a_trial_can_be_repeated_alone() -> None:
    """The values depend only on seed, probe and trial."""
    values = [FORMAT.draw(rng_for("seed", "format", trial)) for trial in (1, 2, 3)]

    assert FORMAT.draw(rng_for("seed", "format", 2)) == values[1]
    assert len({str(item.values["message"]) for item in values}) == 3


def test_the_question_carries_the_drawn_values() -> None:
    """Each drawn value is on the line of its name, whatever it contains."""
    for seed in range(200):
        values = FORMAT.draw(random.Random(seed))
        (question,) = next(FORMAT.script(values, OPENAI))
        prompt = question.call.turns[0].parts[0]

        assert isinstance(prompt, Text)
        assert f"message: {values.values['message']}" in prompt.text.splitlines()
        assert f"tag: {values.values['tag']}" in prompt.text.splitlines()
        assert [tool.name for tool in question.call.tools] == ["probe_echo"]


def test_drawn_messages_carry_quotes_and_foreign_letters_now_and_then() -> None:
    """Strings that break careless encoders are part of the question."""
    messages = [str(FORMAT.draw(random.Random(seed)).values["message"]) for seed in range(200)]

    assert any('"' in message for message in messages)
    assert any(not message.isascii() for message in messages)
    assert any(message.isascii() and '"' not in message for message in messages)
