from __future__ import annotations

import random

import pytest

from probes.messages import BrokenCall, Reply, Stop, Text
from probes.outcomes import FindingKind
from probes.suite.base import DrawnValues
from probes.suite.no_call_probe import MENTIONS, NO_CALL_WANTED, TAG_IN_TEXT, NoCallProbe
from tests.probes.suite.script_player import call, calls, play, prose, refusal, thought

TEXT = "amber cedar 4711"
DRAWN = DrawnValues({"text": TEXT})
LEAK = '<tool_call>{"name": "probe_add", "arguments": {"a": 1, "b": 2}}</tool_call>'
ADD = call("probe_add", {"a": 1, "b": 2})


@pytest.mark.parametrize("probe", [NO_CALL_WANTED, TAG_IN_TEXT], ids=lambda probe: probe.name)
def test_the_text_asked_for_passes(probe: NoCallProbe) -> None:
    """Every drawn text passes when it is returned, tags included, and no metric is counted."""
    for seed in range(30):
        values = probe.draw(random.Random(seed))
        played = play(probe, values, prose(str(values.values["text"])))

        assert (played.outcome, played.kinds, played.trials) == ("pass", [], {})


@pytest.mark.parametrize(
    ("reply", "kinds"),
    [
        (calls(Text(TEXT), ADD), ["extra_call"]),
        (calls(ADD), ["extra_call", "wrong_value"]),
        (Reply((Text(TEXT), BrokenCall("{", "bad")), Stop.TOOL_CALLS), ["extra_call"]),
        (prose(f"{TEXT}\n{LEAK}"), ["extra_call"]),
        (prose("amber cedar 471"), ["wrong_value"]),
        (prose(f'You ask me to reply with "{TEXT}" and to call no tool.'), ["wrong_value"]),
        (Reply((), Stop.END), ["wrong_value"]),
        (Reply((thought(TEXT),), Stop.END), ["wrong_value"]),
    ],
)
def test_a_call_or_a_damaged_text_fails(reply: Reply, kinds: list[str]) -> None:
    """Any call fails, on the wire, broken or in the text, and so does any missing letter."""
    played = play(NO_CALL_WANTED, DRAWN, reply)

    assert (played.outcome, played.kinds) == ("fail", kinds)


def test_tools_are_offered_so_that_leaving_them_alone_means_something() -> None:
    """Without tools a missing call would prove nothing."""
    played = play(NO_CALL_WANTED, DRAWN, prose(TEXT))

    assert len(played.call("asked").tools) == 2
    assert TEXT in str(played.call("asked").turns[0].parts)


def test_a_refused_question_is_no_verdict() -> None:
    """It has no refusal metrics; only a refusal of tools is the endpoint's fault."""
    assert play(NO_CALL_WANTED, DRAWN, refusal(FindingKind.PROVIDER_ERROR)).outcome == "void"
    failed = play(NO_CALL_WANTED, DRAWN, refusal(FindingKind.NO_TOOLS))
    assert (failed.outcome, failed.trials) == ("fail", {})


def test_mentions_name_a_tag_of_a_call() -> None:
    """The sentence contains text that an engine might mistake for a call."""
    assert all("<" in text for text in MENTIONS)
