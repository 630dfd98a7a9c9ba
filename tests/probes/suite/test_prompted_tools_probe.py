from __future__ import annotations

import json

import pytest

from probes.messages import Reply, Role, Stop, Text
from probes.outcomes import FindingKind
from probes.suite.base import DrawnValues
from probes.suite.prompted_tools_probe import PROMPTED_TOOLS
from tests.probes.suite.script_player import ScriptedAnswer, call, calls, play, prose, refusal

DRAWN = DrawnValues({"message": "hi 1", "tag": "beta", "nonce": "amber-7"})
ARGUMENTS = {"message": "hi 1", "tag": "beta"}
USED, UNUSED = prose("It is amber-7."), prose("Done.")


def written(name: str = "probe_echo", **changes: str) -> str:
    return json.dumps({"name": name, "arguments": {**ARGUMENTS, **changes}})


HERMES = f"<tool_call>\n{written()}\n</tool_call>"


def test_a_call_between_the_tags_of_the_prompt_works() -> None:
    """No tools are sent, and the result comes as the text of a user message."""
    played = play(PROMPTED_TOOLS, DRAWN, prose(HERMES), USED)

    assert (played.outcome, played.kinds, played.facts["prompted"]) == ("pass", [], "hermes")
    assert played.trials == {}
    assert all(not question.call.tools for question in played.questions)
    *_, assistant, result = played.questions[-1].call.turns
    assert (assistant.role, result.role) == (Role.ASSISTANT, Role.USER)
    assert assistant.parts == (Text(HERMES),)
    assert "<tool_response>" in str(result.parts)
    assert "amber-7" in str(result.parts)
    assert "amber-7" not in str(played.questions[0].call.turns)


@pytest.mark.parametrize("text", [written(), f"```json\n{written()}\n```"])
@pytest.mark.parametrize("first", [prose(), prose(written()), calls(call("probe_echo", ARGUMENTS))])
def test_plain_json_is_the_second_format(first: Reply, text: str) -> None:
    """It is tried where the tags do not work, and the failures before it are forgotten."""
    played = play(PROMPTED_TOOLS, DRAWN, first, prose(text), USED)

    assert (played.outcome, played.kinds, played.facts["prompted"]) == ("pass", [], "json_text")
    assert "<tool_call>" not in str(played.questions[1].call.turns)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("I would call probe_echo.", "no_call"),
        (f"<tool_call>{written(message='other')}</tool_call>", "wrong_value"),
        (f"<tool_call>{written(tag='gamma')}</tool_call>", "schema_mismatch"),
        (f"<tool_call>{written('probe_shout')}</tool_call>", "unknown_tool"),
        (HERMES + HERMES, "extra_call"),
    ],
)
def test_no_format_works_where_no_call_is_right(text: str, kind: str) -> None:
    """What was wrong with each format is a finding; no metric counts it."""
    played = play(PROMPTED_TOOLS, DRAWN, prose(text), prose("I cannot do that."))

    assert (played.outcome, played.kinds) == ("fail", [kind, "no_call"])
    assert (played.facts["prompted"], played.trials) == ("none", {})


def test_a_call_that_is_cut_off_does_not_work() -> None:
    """The token limit ended it."""
    cut = Reply((Text(HERMES[:40]),), Stop.LENGTH)

    played = play(PROMPTED_TOOLS, DRAWN, cut, prose())

    assert played.facts["prompted"] == "none"


@pytest.mark.parametrize(
    ("second", "kind"),
    [(UNUSED, "result_unused"), (refusal(FindingKind.ROLE_REFUSED), "role_refused")],
)
def test_a_format_whose_results_are_not_used_does_not_work(
    second: ScriptedAnswer, kind: str
) -> None:
    """A call without use of its result is half a tool; the next format is tried."""
    played = play(PROMPTED_TOOLS, DRAWN, prose(HERMES), second, prose(written()), second)

    assert (played.outcome, played.kinds) == ("fail", [kind, kind])
    assert played.facts["prompted"] == "none"
    assert len(played.questions) == PROMPTED_TOOLS.requests


@pytest.mark.parametrize("before", [(), (prose(),)])
def test_a_refused_question_is_no_verdict(before: tuple[Reply, ...]) -> None:
    """Nothing is claimed about formats that were not tried."""
    played = play(PROMPTED_TOOLS, DRAWN, *before, refusal(FindingKind.PROVIDER_ERROR))

    assert (played.outcome, "prompted" in played.facts) == ("void", False)
