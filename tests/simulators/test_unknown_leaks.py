"""Calls that leak in formats that no parser reads: bytes, diagnosis, and answers without calls."""

from __future__ import annotations

import pytest

from probes.outcomes import FindingKind, Metric
from probes.suite.turn_judge import judge_turn
from probes.text_answer import read_text_answer
from simulators.faults.fault import Fault
from simulators.faults.text.unknown_leaks import FAULTS
from tests.simulators.fault_client import (
    ADD,
    ALL,
    CHAT,
    ECHO,
    EVERY_FORMAT,
    ONE,
    PING,
    STORE,
    FaultyVendor,
    question,
)

TOOLS = (ECHO, ADD, PING, STORE)
ARGUMENTS = '{"message": "naïve \\"amber\\" ☕", "tag": "beta"}'
# The content in place of one call of probe_echo, by the fault's name.
WRITTEN = {
    "leak-unknown-tags": '<probe_echo>\n<message>naïve "amber" ☕</message>\n<tag>beta</tag>\n'
    "</probe_echo>",
    "leak-unknown-json": 'I will use a tool for that.\n{"action": "probe_echo", "action_input": '
    f"{ARGUMENTS}}}",
    "leak-unknown-code": "This should do it:\n\n```ts\nawait functions.probe_echo("
    f"{ARGUMENTS});\n```",
}
every_leak = pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)


@every_leak
def test_the_call_is_content_with_a_plain_stop(fault: Fault, vendor_url: str) -> None:
    """The content is the call as text; no call is on the wire."""
    choice = FaultyVendor(vendor_url, fault.name).read_body("openai", question(ONE))["choices"][0]

    assert choice["message"]["content"] == WRITTEN[fault.name]
    assert "tool_calls" not in choice["message"]
    assert choice["finish_reason"] == "stop"


@every_leak
@pytest.mark.parametrize("format", EVERY_FORMAT)
@pytest.mark.parametrize("stream", [False, True])
def test_no_parser_reads_it_and_the_turn_is_a_leak(
    fault: Fault, format: str, stream: bool, vendor_url: str
) -> None:
    """Whole or streamed, several calls or one: a leak in an unknown format, not prose."""
    vendor = FaultyVendor(vendor_url, fault.name)
    reply = vendor.read_reply(format, question(ALL, ECHO, PING, STORE), stream=stream)

    turn = judge_turn(reply, TOOLS)

    assert not read_text_answer([reply.text or ""], TOOLS).calls
    assert [finding.kind for finding in turn.faults] == [FindingKind.LEAKED_CALL]
    assert "an unknown format" in turn.faults[0].message
    assert [v.good for v in turn.verdicts if v.metric is Metric.LEAK] == [False]


@every_leak
def test_an_answer_without_calls_does_not_leak(fault: Fault, vendor_url: str) -> None:
    """An answer without calls is unchanged."""
    reply = FaultyVendor(vendor_url, fault.name).read_reply("openai", question(CHAT))

    assert reply.text == "good morning"
