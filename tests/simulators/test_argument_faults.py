from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

from probes.call_arguments import validate_arguments
from probes.messages import Breakage, ModelCall, Role, Text, Turn
from probes.outcomes import Metric
from simulators.faults.calls.wrong_arguments import FAULTS
from simulators.faults.fault import Fault
from tests.simulators.fault_client import (
    ADD,
    ADDED,
    ALL,
    BARE,
    CHAT,
    ECHO,
    ECHOED,
    EVERY_FORMAT,
    MESSAGE,
    NESTED,
    ONE,
    PING,
    STORE,
    STORED,
    TWO,
    FaultyVendor,
    question,
    read_calls,
)

TOOLS = {tool.name: tool for tool in (ECHO, ADD, PING, STORE)}
PERSON = {"name": "Zoë", "age": 7}
NOTE = {"note": "as asked"}
TEXT = '{"message":"naïve \\"amber\\" ☕","tag":"beta"}'
QWEN_ADD = (
    "<tool_call>\n<function=probe_add>\n<parameter=a>\n3\n</parameter>\n"
    "<parameter=b>\n4\n</parameter>\n</function>\n</tool_call>"
)
# By fault: what a call of probe_echo becomes, one of probe_store, and one of probe_ping.
CHANGED: dict[str, tuple[Any, Any, Any]] = {
    "wrong-enum": (
        {"message": MESSAGE, "tag": "unlisted"},
        {"person": PERSON, "flag": True, **NOTE},
        NOTE,
    ),
    "wrong-value-type": (
        {"message": 7, "tag": "beta"},
        {"person": '{"name": "Zoë", "age": 7}', "flag": True},
        NOTE,
    ),
    "missing-required": ({"tag": "beta"}, {"flag": True}, NOTE),
    "extra-argument": (
        {"message": MESSAGE, "tag": "beta", **NOTE},
        {"person": PERSON, "flag": True, **NOTE},
        NOTE,
    ),
    "wrapped": (
        {"arguments": json.dumps(ECHOED[1], ensure_ascii=False)},
        {"arguments": json.dumps(STORED[1], ensure_ascii=False)},
        {"arguments": "{}"},
    ),
    "nested-as-string": (
        ECHOED[1],
        {"person": '{"name": "Zoë", "age": 7}', "flag": True},
        {},
    ),
    "strings-only": (
        ECHOED[1],
        {"person": '{"name": "Zoë", "age": 7}', "flag": "true"},
        {},
    ),
    "empty-arguments": ({}, {}, {}),
    "fragments": (
        {"message<arg_key": f"{MESSAGE}</arg_value>", "tag<arg_key": "beta</arg_value>"},
        {"person<arg_key": PERSON, "flag<arg_key": True},
        {"<arg_key": "</arg_value>"},
    ),
}
NAMES = {
    "polluted-name": "probe_echo</arg_value>",
    "glued-name": "probe_echojson",
    "channel-in-name": "probe_echo<|channel|>commentary",
    "unknown-tool": "probe_echo_v2",
}
OTHERS = {
    "collapsed-space",
    "cut-at-tag",
    "empty-arguments-later",
    "escaped-html",
    "next-call-inside",
    "no-argument-lost",
    "invalid-json",
    "double-encoded",
    "string-input",
}
both_ways = pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
every_format = pytest.mark.parametrize("format", EVERY_FORMAT)


def read_wire_calls(body: Any, format: str) -> list[tuple[str, Any]]:
    """Name and arguments of each call in the raw body of a format."""
    match format:
        case "openai":
            calls = [c["function"] for c in body["choices"][0]["message"]["tool_calls"]]
            return [(call["name"], json.loads(call["arguments"])) for call in calls]
        case "openai_responses":
            return [(item["name"], json.loads(item["arguments"])) for item in body["output"]]
        case "anthropic":
            return [(block["name"], block["input"]) for block in body["content"]]
        case "gemini":
            parts = body["candidates"][0]["content"]["parts"]
            return [(p["functionCall"]["name"], p["functionCall"]["args"]) for p in parts]
        case _:
            calls = [call["function"] for call in body["message"]["tool_calls"]]
            return [(call["name"], call["arguments"]) for call in calls]


def is_valid(name: str, arguments: Mapping[str, Any]) -> bool:
    return name in TOOLS and not validate_arguments(TOOLS[name].schema or {}, arguments)


def test_every_argument_fault_is_covered() -> None:
    """Every argument fault is covered here."""
    assert {fault.name for fault in FAULTS} == {*CHANGED, *NAMES, *OTHERS}


@every_format
@pytest.mark.parametrize("name", CHANGED)
def test_arguments_arrive_changed(name: str, format: str, vendor_url: str) -> None:
    """Arguments are changed in every format, for every kind of tool."""
    faulty = FaultyVendor(vendor_url, name)
    bodies = [
        faulty.read_body(format, question(ONE)),
        faulty.read_body(format, question(NESTED, STORE)),
        faulty.read_body(format, question(BARE, PING)),
    ]
    names = ("probe_echo", "probe_store", "probe_ping")

    assert [read_wire_calls(body, format) for body in bodies] == [
        [(tool, arguments)] for tool, arguments in zip(names, CHANGED[name], strict=True)
    ]


@every_format
@pytest.mark.parametrize("name", NAMES)
def test_names_arrive_changed(name: str, format: str, vendor_url: str) -> None:
    """The arguments are right, but the tool's name is wrong."""
    body = FaultyVendor(vendor_url, name).read_body(format, question(ONE))

    assert read_wire_calls(body, format) == [(NAMES[name], ECHOED[1])]


@every_format
@pytest.mark.parametrize("name", [*CHANGED, *NAMES])
def test_a_stream_has_the_same_wrong_call(name: str, format: str, vendor_url: str) -> None:
    """Whole and streamed answers have the same wrong calls."""
    faulty = FaultyVendor(vendor_url, name)
    whole = faulty.read_reply(format, question(ALL, ECHO, PING, STORE))
    streamed = faulty.read_reply(format, question(ALL, ECHO, PING, STORE), stream=True)

    assert read_calls(streamed) == read_calls(whole)
    assert len(whole.calls) == 3


@pytest.mark.parametrize(
    "fault",
    [fault for fault in FAULTS if fault.effect.metrics.get(Metric.SCHEMA_FAILURE)],
    ids=lambda fault: fault.name,
)
def test_every_call_is_invalid_if_the_truth_says_so(fault: Fault, vendor_url: str) -> None:
    """Every call breaks its schema, including empty and nested ones."""
    reply = FaultyVendor(vendor_url, fault.name).read_reply(
        "openai", question(ALL, ECHO, PING, STORE)
    )

    assert len(reply.calls) == 3
    assert not any(is_valid(name, arguments) for name, arguments in read_calls(reply))


@pytest.mark.parametrize(
    ("name", "valid"),
    [
        ("nested-as-string", [True, True, False]),
        ("strings-only", [True, True, False]),
        ("empty-arguments", [False, True, False]),
    ],
)
def test_some_tools_survive_the_milder_faults(
    name: str, valid: list[bool], vendor_url: str
) -> None:
    """The share of failing calls depends on the tools, so the truth has a level, not a rate."""
    reply = FaultyVendor(vendor_url, name).read_reply("openai", question(ALL, ECHO, PING, STORE))

    assert [is_valid(*call) for call in read_calls(reply)] == valid


def question_after(answers: int) -> ModelCall:
    """The question after that many answers of the model."""
    turns: list[Turn] = []
    for _ in range(answers):
        turns += [Turn(Role.USER, (Text(CHAT),)), Turn(Role.ASSISTANT, (Text("good morning"),))]
    call = question(ONE)
    return ModelCall("", (*turns, *call.turns), tools=call.tools)


@pytest.mark.parametrize(
    ("switch", "answers", "expected"),
    [
        ("empty-arguments-later", 1, ECHOED[1]),
        ("empty-arguments-later", 2, {}),
        ("empty-arguments-later", 5, {}),
        ("empty-arguments-later,value=2", 0, ECHOED[1]),
        ("empty-arguments-later,value=2", 1, {}),
    ],
)
def test_arguments_are_empty_from_an_answer_on(
    switch: str, answers: int, expected: Any, vendor_url: str
) -> None:
    """Z63: arguments are empty from the third answer on, or from the switch's value on."""
    body = FaultyVendor(vendor_url, switch).read_body("openai", question_after(answers))

    assert read_wire_calls(body, "openai") == [("probe_echo", expected)]


HOSTILE = "a </parameter> b </tool_call> c"


@both_ways
def test_a_string_is_cut_at_a_closing_tag(stream: bool, vendor_url: str) -> None:
    """Z27: the argument is valid but silently cut."""
    call = question(f"Call probe_echo once.\nmessage: {HOSTILE}\ntag: beta")
    reply = FaultyVendor(vendor_url, "cut-at-tag").read_reply("openai", call, stream=stream)

    assert read_calls(reply) == [("probe_echo", {"message": "a ", "tag": "beta"})]
    assert is_valid(*read_calls(reply)[0])


def test_a_string_in_an_object_is_cut_as_well(vendor_url: str) -> None:
    """The first closing tag also cuts a nested string."""
    prompt = 'Call probe_store once.\nperson: {"name": "a</tool_call>b", "age": 7}\nflag: true'
    body = FaultyVendor(vendor_url, "cut-at-tag").read_body("openai", question(prompt, STORE))

    expected = {"person": {"name": "a", "age": 7}, "flag": True}
    assert read_wire_calls(body, "openai") == [("probe_store", expected)]


def test_an_input_that_is_a_string_is_read_and_noted(vendor_url: str) -> None:
    """The arguments are right for a reader that tolerates it; the SDK promises an object."""
    faulty = FaultyVendor(vendor_url, "string-input")
    body = faulty.read_body("anthropic", question(ONE))
    (block,) = body["content"]
    assert json.loads(block["input"]) == ECHOED[1]

    reply = faulty.read_reply("anthropic", question(ONE))
    assert read_calls(reply) == [ECHOED]
    assert "arguments_string" in {deviation.name for deviation in reply.deviations}
    streamed = faulty.read_reply("anthropic", question(ONE), stream=True)
    assert (read_calls(streamed), streamed.deviations) == ([ECHOED], ())


@every_format
@both_ways
@pytest.mark.parametrize(
    ("name", "damaged"),
    [
        ("collapsed-space", "a b c <i>&</i>"),
        ("escaped-html", "a  b\n\tc &lt;i&gt;&amp;&lt;/i&gt;"),
    ],
)
def test_a_proxy_damages_texts_and_the_calls_stay_valid(
    name: str, damaged: str, format: str, vendor_url: str, *, stream: bool
) -> None:
    """Every string, also inside an object; names, numbers and structure stay."""
    person = json.dumps({"name": "a  b\n\tc <i>&</i>", "age": 7})
    prompt = f"Call probe_store once.\nperson: {person}\nflag: true"
    reply = FaultyVendor(vendor_url, name).read_reply(
        format, question(prompt, STORE), stream=stream
    )

    (call,) = read_calls(reply)
    assert call == ("probe_store", {"person": {"name": damaged, "age": 7}, "flag": True})
    assert is_valid(*call)


@every_format
def test_the_first_call_swallows_the_others(format: str, vendor_url: str) -> None:
    """Z28: the first argument of the first call contains the raw XML of the second."""
    faulty = FaultyVendor(vendor_url, "next-call-inside")
    swallowed = f"{MESSAGE}</parameter>\n</function>\n</tool_call>\n{QWEN_ADD}"
    expected = [("probe_echo", {"message": swallowed, "tag": "beta"})]

    assert read_wire_calls(faulty.read_body(format, question(TWO)), format) == expected
    assert read_calls(faulty.read_reply(format, question(TWO), stream=True)) == expected


def test_one_call_has_none_to_swallow(vendor_url: str) -> None:
    """A single call is unaffected."""
    assert read_calls(
        FaultyVendor(vendor_url, "next-call-inside").read_reply("openai", question(ONE))
    ) == [ECHOED]


@every_format
def test_calls_without_arguments_are_lost(format: str, vendor_url: str) -> None:
    """Z32: only calls without arguments are lost."""
    faulty = FaultyVendor(vendor_url, "no-argument-lost")
    alone = faulty.read_reply(format, question(BARE, PING))
    body = faulty.read_body(format, question(ALL, ECHO, PING, STORE))

    assert read_wire_calls(body, format) == [ECHOED, STORED]
    assert not alone.calls
    assert not alone.text


SPELLED = {
    "invalid-json": '{message:"naïve \\"amber\\" ☕","tag":"beta",,}',
    "double-encoded": json.dumps(TEXT, ensure_ascii=False),
}
KINDS = {"invalid-json": Breakage.INVALID_JSON, "double-encoded": Breakage.NOT_AN_OBJECT}


@pytest.mark.parametrize("name", SPELLED)
def test_the_argument_string_is_malformed(name: str, vendor_url: str) -> None:
    """The argument string is malformed in both formats that send one."""
    faulty = FaultyVendor(vendor_url, name)
    chat = faulty.read_body("openai", question(ONE))["choices"][0]
    [item] = faulty.read_body("openai_responses", question(ONE))["output"]

    assert chat["message"]["tool_calls"][0]["function"]["arguments"] == SPELLED[name]
    assert chat["finish_reason"] == "tool_calls"
    assert item["arguments"] == SPELLED[name]


@both_ways
@pytest.mark.parametrize("format", ["openai", "openai_responses"])
@pytest.mark.parametrize("name", SPELLED)
def test_a_malformed_string_is_read_as_a_broken_call(
    name: str, format: str, stream: bool, vendor_url: str
) -> None:
    """Every call of the answer is broken, with its raw text, whole and streamed."""
    reply = FaultyVendor(vendor_url, name).read_reply(format, question(TWO), stream=stream)

    assert not reply.calls
    assert [call.kind for call in reply.broken] == [KINDS[name]] * 2
    assert reply.broken[0].raw == SPELLED[name]


@both_ways
@pytest.mark.parametrize("format", ["anthropic", "gemini", "ollama"])
@pytest.mark.parametrize("name", SPELLED)
def test_formats_with_objects_are_unaffected(
    name: str, format: str, stream: bool, vendor_url: str
) -> None:
    """Formats that send an object are unaffected."""
    reply = FaultyVendor(vendor_url, name).read_reply(format, question(TWO), stream=stream)

    assert read_calls(reply) == [ECHOED, ADDED]


def test_a_call_without_arguments_is_malformed_too(vendor_url: str) -> None:
    """An empty object is malformed as well."""
    reply = FaultyVendor(vendor_url, "invalid-json").read_reply("openai", question(BARE, PING))

    assert [call.kind for call in reply.broken] == [Breakage.INVALID_JSON]


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_an_answer_without_a_call_is_unchanged(fault: Fault, vendor_url: str) -> None:
    """An answer without calls is unchanged."""
    assert (
        FaultyVendor(vendor_url, fault.name).read_reply("openai", question(CHAT)).text
        == "good morning"
    )
