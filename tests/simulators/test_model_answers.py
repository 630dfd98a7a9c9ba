from __future__ import annotations

import json
from typing import Any

import pytest

from probes.messages import (
    JSON,
    NONE,
    REQUIRED,
    ModelCall,
    Role,
    Text,
    ToolCall,
    ToolChoice,
    ToolResult,
    ToolSpec,
    Turn,
)
from probes.suite.probe_tools import PROBE_ECHO
from simulators.model.answers import Answer, answer_request

ADD = ToolSpec(
    "probe_add",
    "Adds two numbers.",
    {
        "type": "object",
        "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
        "required": ["a", "b"],
    },
)
READ = ToolSpec(
    "probe_fail_once",
    "Reads a path.",
    {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
)
TOOLS = (PROBE_ECHO, ADD, READ)
MESSAGES = (
    'amber anchor 1234 "cedar"',
    "fjord comet 7 cedar's",
    "a naïve ☕ → end",
    "delta/ember x",
)
Calls = list[tuple[str, dict[str, JSON]]]


def ask(
    text: str, *later_turns: Turn, tools: tuple[ToolSpec, ...] = TOOLS, **options: Any
) -> Answer:
    return answer_request(
        ModelCall("m", (Turn(Role.USER, (Text(text),)), *later_turns), tools, **options)
    )


def read_calls(answer: Answer) -> Calls:
    return [
        (tool_request.tool.name, dict(tool_request.arguments))
        for tool_request in answer.tool_requests
    ]


def call_turn(*calls: tuple[str, dict[str, JSON]], first: int = 0) -> Turn:
    parts = [
        ToolCall(f"c{index}", name, arguments, "wire", json.dumps(arguments))
        for index, (name, arguments) in enumerate(calls, first)
    ]
    return Turn(Role.ASSISTANT, tuple(parts))


def result_turn(*contents: str, first: int = 0) -> Turn:
    results = [ToolResult(f"c{index}", content) for index, content in enumerate(contents, first)]
    return Turn(Role.TOOL, tuple(results))


FORMAT_PROMPTS = [
    "Call the tool probe_echo exactly once, with these arguments:\nmessage: {m}\ntag: beta\n"
    "Copy the message character for character. Do not answer in text.",
    'Please use probe_echo one time. Its message should be "{m}" and its tag should be beta.',
    "Invoke `probe_echo` with message = {m}\nand tag = beta",
    "I need a single call of probe_echo, with the arguments {j}. No prose, please.",
    "Run probe_echo.\n| argument | value |\n|---|---|\n| message | {m} |\n| tag | beta |",
    "Run probe_echo on this row:\n| message | tag |\n|---|---|\n| {m} | beta |",
    "Your only task: one call to probe_echo.\n* **message**: {m}\n* **tag**: beta\n"
    "The message must be copied exactly.",
    'Pass "{m}" as the message and beta as the tag to probe_echo. Do it once, say nothing else.',
    "With the tag beta, have probe_echo repeat this text for me: “{m}”. Write nothing yourself.",
    "Use the echo tool. The tag is beta. The message is the following:\nmessage:\n```\n{m}\n```",
    'probe_echo(message="{m}", tag="beta") - please make this call.',
    "Make a call to probe_echo with message `{m}` and tag `beta`.",
    "Call probe_echo with message {m} and tag beta.",
]


@pytest.mark.parametrize("message", MESSAGES)
@pytest.mark.parametrize("prompt", FORMAT_PROMPTS)
def test_one_call_is_made_for_every_wording(prompt: str, message: str) -> None:
    """The values arrive character for character."""
    arguments: dict[str, JSON] = {"message": message, "tag": "beta"}

    answer = ask(prompt.replace("{m}", message).replace("{j}", json.dumps(arguments)))

    assert read_calls(answer) == [("probe_echo", arguments)]


PAIR: Calls = [
    ("probe_echo", {"message": "A one", "tag": "alpha"}),
    ("probe_echo", {"message": "B two", "tag": "beta"}),
]
PARALLEL_PROMPTS = [
    'Call probe_echo twice at the same time: once with message "A one" and tag alpha, once with '
    'message "B two" and tag beta.',
    "Make two calls in one turn:\n- probe_echo with message: A one, tag: alpha\n"
    "- probe_echo with message: B two, tag: beta",
    "First call:\nTool: probe_echo\nmessage: A one\ntag: alpha\n\nSecond call:\nTool: probe_echo\n"
    "message: B two\ntag: beta\nDo both in parallel.",
    'Call probe_echo for each of these: [{"message": "A one", "tag": "alpha"}, '
    '{"message": "B two", "tag": "beta"}]',
    "Use probe_echo for every row, all in one response.\n| message | tag |\n|---|---|\n"
    "| A one | alpha |\n| B two | beta |",
    'Use probe_echo to echo "A one" under alpha and "B two" under beta, in the same response.',
    "Please issue two probe_echo calls together. The first has message = A one and tag = alpha; "
    "the second has message = B two and tag = beta.",
    '1. probe_echo(message="A one", tag="alpha")\n2. probe_echo(message="B two", tag="beta")\n'
    "Make both calls at once.",
    'Without waiting in between, call probe_echo with {"message":"A one","tag":"alpha"} and '
    'probe_echo with {"message":"B two","tag":"beta"}.',
    "Call probe_echo two times in parallel.\nCall 1\n  message: A one\n  tag: alpha\nCall 2\n"
    "  message: B two\n  tag: beta",
]


@pytest.mark.parametrize("prompt", PARALLEL_PROMPTS)
def test_two_calls_are_made_at_once_for_every_wording(prompt: str) -> None:
    """Both calls come in one turn, or one at a time if parallel calls are off."""
    assert read_calls(ask(prompt)) == PAIR
    assert read_calls(ask(prompt, parallel=False)) == PAIR[:1]
    assert (
        read_calls(ask(prompt, call_turn(PAIR[0]), result_turn("ok"), parallel=False)) == PAIR[1:]
    )


@pytest.mark.parametrize(
    "prompt",
    [
        'In one turn, call probe_echo with message "A one" and tag alpha, and probe_add with '
        "a = 3 and b = 4.",
        'Add 3 and 4 with probe_add and, at the same time, echo "A one" under alpha with '
        "probe_echo.",
        "Call probe_add (a: 3, b: 4) and probe_echo (message: A one, tag: alpha).",
        "Call both tools together: probe_add with a 3 and b 4, probe_echo with message A one and "
        "tag alpha.",
    ],
)
def test_two_different_tools_are_called_at_once(prompt: str) -> None:
    """Each gets its own values."""
    assert dict(read_calls(ask(prompt))) == {
        "probe_echo": {"message": "A one", "tag": "alpha"},
        "probe_add": {"a": 3, "b": 4},
    }


NO_CALL_PROMPTS = [
    "What is the capital of France? Answer in one word.",
    "Do not call any tool. Say hello.",
    "Explain what probe_echo does, without calling it.",
    "What does probe_echo do?",
    'Reply with "ok" and use no tools.',
    "Which tools do you have?",
    "Write a short poem about the sea.",
    "Never call probe_echo here; tell me a joke.",
    "No tool is needed: what is 2+2?",
    "Greet me in one sentence. The tools are not needed for that.",
]


@pytest.mark.parametrize("prompt", NO_CALL_PROMPTS)
def test_no_call_is_made_without_a_request(prompt: str) -> None:
    """The answer is text, and not empty."""
    answer = ask(prompt)

    assert not answer.tool_requests
    assert answer.text


ROUND_TRIP_PROMPTS = [
    "Call probe_echo with message: hello\ntag: alpha\nThen repeat the token it returns.",
    'Use probe_echo (message "hello", tag alpha) and tell me the token from its result.',
    "message: hello\ntag: alpha\nGive these to probe_echo, and quote its answer to me.",
    'Fetch a token with probe_echo, arguments {"message": "hello", "tag": "alpha"}; then say it.',
    "Please run probe_echo once with message = hello and tag = alpha. What did it say?",
    "I want the nonce of probe_echo for message `hello` and tag `alpha`. Call it and answer.",
    "First call probe_echo with message hello and tag alpha, then answer with the nonce.",
    "Ask probe_echo: message is 'hello', tag is 'alpha'. Report the result word for word.",
    "| message | tag |\n|---|---|\n| hello | alpha |\nCall probe_echo with this and report back.",
    "Pass hello as the message and alpha as the tag to probe_echo; after that, state the token.",
]


@pytest.mark.parametrize("prompt", ROUND_TRIP_PROMPTS)
def test_a_result_is_used_in_the_answer(prompt: str) -> None:
    """The model makes one call and then reports its result."""
    first = read_calls(ask(prompt))
    assert first == [("probe_echo", {"message": "hello", "tag": "alpha"})]

    answer = ask(prompt, call_turn(*first), result_turn('{"token": "nonce-77-q"}'))

    assert not answer.tool_requests
    assert "nonce-77-q" in answer.text


REPAIR_PROMPTS = [
    "Call probe_fail_once with path: data.txt\nIf it fails, correct the call and try again.",
    'Use probe_fail_once on path "data.txt". On an error, follow what it says.',
    'Read a file with probe_fail_once: {"path": "data.txt"}. Repair the call if need be.',
    "Invoke probe_fail_once, path = data.txt\nErrors tell you how to do it right.",
    "Please call probe_fail_once with the path data.txt and mend the call when it is refused.",
    "probe_fail_once(path='data.txt'), please call it and do not give up at the first error.",
    "Pass `data.txt` as the path to probe_fail_once. Retry with a corrected path on failure.",
    "Run probe_fail_once.\n- path: data.txt\nYou may need two tries.",
    "Run probe_fail_once.\n| argument | value |\n|---|---|\n| path | data.txt |\n"
    "Fix what it rejects.",
    "I need the content of a file. Call probe_fail_once; its path is 'data.txt'. Fix errors.",
]


@pytest.mark.parametrize("prompt", REPAIR_PROMPTS)
@pytest.mark.parametrize(
    ("error_fields", "path"),
    [
        ({"message": "path must start with /"}, "/data.txt"),
        ({"message": "No such path.", "expected": "/srv/data.txt"}, "/srv/data.txt"),
        ({"message": "Did you mean '/tmp/data.txt'?"}, "/tmp/data.txt"),
        ({"message": "Temporary failure."}, "data.txt"),
    ],
)
def test_a_structured_error_leads_to_a_corrected_call(
    prompt: str, error_fields: dict[str, str], path: str
) -> None:
    """The model follows the error; without a suggested correction it retries once."""
    first = read_calls(ask(prompt))
    assert first == [("probe_fail_once", {"path": "data.txt"})]
    error = {
        "is_error": True,
        "error_code": "bad",
        "path": "$.path",
        "retryable": True,
        **error_fields,
    }

    second = ask(prompt, call_turn(*first), result_turn(json.dumps(error)))
    assert read_calls(second) == [("probe_fail_once", {"path": path})]

    again = call_turn(*read_calls(second), first=1)
    third = ask(
        prompt,
        call_turn(*first),
        result_turn(json.dumps(error)),
        again,
        result_turn("nonce-5", first=1),
    )
    assert not third.tool_requests
    assert "nonce-5" in third.text


def test_an_error_that_forbids_a_retry_is_reported() -> None:
    """An error with retryable false is reported without a retry."""
    error = json.dumps({"is_error": True, "message": "Forbidden.", "retryable": False})
    call = ("probe_fail_once", {"path": "x"})

    answer = ask("Call probe_fail_once with path: x", call_turn(call), result_turn(error))  # type: ignore[arg-type]

    assert not answer.tool_requests
    assert "Forbidden." in answer.text


def test_sequential_steps_use_earlier_results() -> None:
    """The second call uses the result of the first."""
    prompt = (
        "Step 1: call probe_add with a = 2 and b = 5.\n"
        "Step 2: call probe_echo with message set to the sum it returned and tag alpha."
    )
    first = read_calls(ask(prompt))
    second = read_calls(ask(prompt, call_turn(*first), result_turn('{"sum": 7}')))

    assert first == [("probe_add", {"a": 2, "b": 5})]
    assert second == [("probe_echo", {"message": "7", "tag": "alpha"})]


@pytest.mark.parametrize(
    ("rules", "text", "value"),
    [
        ({"type": "integer"}, "-12", -12),
        ({"type": "number"}, "2.5", 2.5),
        ({"type": "boolean"}, "false", False),
        ({"type": ["string", "null"]}, "null", None),
        ({"anyOf": [{"type": "integer"}, {"type": "string"}]}, "12b", "12b"),
        ({"anyOf": [{"type": "integer"}, {"type": "string"}]}, "12", 12),
        ({"type": "array", "items": {"type": "string"}}, "red, green and blue", None),
        ({"type": "array", "items": {"type": "object"}}, '[{"x": 1}, {"x": 2}]', None),
        ({"type": "object"}, '{"city": "Ulm", "at": {"n": 1}}', None),
        ({"enum": [1, 2]}, "2", 2),
        ({"type": "string"}, "12", "12"),
        ({"type": "string"}, "<script>\u202e{{7*7}} ]]> \\n %s", None),
    ],
)
def test_a_value_has_the_type_of_its_schema(rules: dict[str, Any], text: str, value: JSON) -> None:
    """Text is converted to the schema's type, and hostile text is unchanged."""
    tool = ToolSpec("f", "", {"type": "object", "properties": {"v": rules}, "required": ["v"]})
    expected: dict[str, JSON] = {
        "red, green and blue": ["red", "green", "blue"],
        '[{"x": 1}, {"x": 2}]': [{"x": 1}, {"x": 2}],
        '{"city": "Ulm", "at": {"n": 1}}': {"city": "Ulm", "at": {"n": 1}},
    }
    if value is None and text != "null":
        value = expected.get(text, text)

    calls = read_calls(ask(f"Call f with this argument:\nv: {text}", tools=(tool,)))

    assert calls == [("f", {"v": value})]


def test_the_tool_choice_is_obeyed() -> None:
    """none gives text, required gives a call, and a name gives that tool."""
    prompt = "Call probe_add with a = 1 and b = 2."

    assert not ask(prompt, tool_choice=NONE).tool_requests
    assert read_calls(ask("How are you?", tool_choice=REQUIRED))
    named = ask(prompt, tool_choice=ToolChoice("named", "probe_fail_once"))
    assert [name for name, _ in read_calls(named)] == ["probe_fail_once"]


def test_a_tool_without_arguments_is_called() -> None:
    """A tool without parameters is called with no arguments."""
    tool = ToolSpec("probe_ping", "", None)

    assert read_calls(ask("Please call probe_ping.", tools=(tool,))) == [("probe_ping", {})]
