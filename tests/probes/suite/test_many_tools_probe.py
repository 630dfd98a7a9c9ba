from __future__ import annotations

import random

import pytest

from probes.messages import ToolCall
from probes.outcomes import FindingKind
from probes.suite.base import DrawnValues
from probes.suite.many_tools_probe import MANY_TOOLS
from probes.suite.probe_tools import SIMILAR_TOOLS
from tests.probes.suite.script_player import call, calls, play, prose, refusal

DRAWN = DrawnValues(
    {"action": "cancel", "paper": "order", "reference": "amber-1", "note": "cedar 2"}
)
ARGUMENTS = {"reference": "amber-1", "note": "cedar 2"}
RIGHT = call("probe_cancel_order", ARGUMENTS)


def test_the_right_one_of_twenty_tools_passes() -> None:
    """Twenty tools are offered, and the task names none of them."""
    played = play(MANY_TOOLS, DRAWN, calls(RIGHT))

    assert (played.outcome, played.kinds) == ("pass", [])
    question = played.call("asked")
    assert len({tool.name for tool in question.tools}) == 20
    assert not any(tool.name in str(question.turns) for tool in question.tools)


def test_every_tool_can_be_the_right_one() -> None:
    """Over many draws, each is asked for."""
    drawn = [MANY_TOOLS.draw(random.Random(seed)).values for seed in range(400)]

    asked = {f"probe_{values['action']}_{values['paper']}" for values in drawn}
    assert asked == {tool.name for tool in SIMILAR_TOOLS}


@pytest.mark.parametrize(
    ("model_calls", "kinds"),
    [
        ([call("probe_close_order", ARGUMENTS)], ["no_call", "extra_call"]),
        ([call("probe_cancel_quote", ARGUMENTS)], ["no_call", "extra_call"]),
        ([RIGHT, call("probe_close_order", ARGUMENTS, "c2")], ["extra_call"]),
        ([call("probe_cancel_order", {**ARGUMENTS, "note": "cedar 3"})], ["wrong_value"]),
        ([call("probe_cancel_order", {"reference": "amber-1"})], ["schema_mismatch"]),
        ([call("cancel_order", ARGUMENTS)], ["unknown_tool"]),
    ],
)
def test_another_tool_a_second_one_or_other_values_fail(
    model_calls: list[ToolCall], kinds: list[str]
) -> None:
    """A similar tool is a wrong tool."""
    played = play(MANY_TOOLS, DRAWN, calls(*model_calls))

    assert (played.outcome, played.kinds) == ("fail", kinds)


def test_prose_fails_and_trouble_is_no_verdict() -> None:
    """A task without a call is no use of tools."""
    assert play(MANY_TOOLS, DRAWN, prose()).kinds == ["no_call"]
    assert play(MANY_TOOLS, DRAWN, refusal(FindingKind.PROVIDER_ERROR)).outcome == "void"
