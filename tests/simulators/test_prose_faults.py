from __future__ import annotations

from typing import Any

import httpx
import pytest

from probes.adapters import FORMATS
from probes.errors import ProviderError, Refused
from probes.findings import FindingKind
from probes.http_messages import Chunk, WireResponse
from probes.http_reply import read_http_reply
from probes.messages import Breakage, Stop
from simulators.faults.fault import Fault
from simulators.faults.text.prose_answers import FAULTS
from tests.simulators.fault_client import (
    CHAT,
    ECHOED,
    EVERY_FORMAT,
    ONE,
    TWO,
    FaultyVendor,
    question,
    read_calls,
    read_frames,
)

PROSE = "Of course. I would use probe_echo for that and tell you what comes back."
REFUSAL = "I'm sorry, but I can't help with that."
ARGUMENTS = '{"message": "naïve \\"amber\\" ☕", "tag": "beta"}'
UNPARSED = (
    f"error parsing tool call: raw='{ARGUMENTS}]', err=invalid character ']' after top-level value"
)
ENDED = "failed to parse JSON: unexpected end of JSON input"
every_format = pytest.mark.parametrize("format", EVERY_FORMAT)
both_ways = pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])


def read_refusal(vendor_url: str, name: str, vendor: str, *, stream: bool) -> tuple[Any, Refused]:
    """The body of an error answer, and the error that our library raises for it."""
    answer = FaultyVendor(vendor_url, name).ask(vendor, question(ONE), stream=stream)
    incoming = WireResponse(answer.status_code, dict(answer.headers), (Chunk(0, answer.content),))
    with pytest.raises(ProviderError) as caught:
        read_http_reply(FORMATS[vendor], incoming)
    assert answer.status_code == 500
    assert isinstance(caught.value, Refused)
    return answer.json(), caught.value


@both_ways
@every_format
@pytest.mark.parametrize(("name", "text"), [("prose", PROSE), ("refuses", REFUSAL)])
def test_text_replaces_a_call(
    name: str, text: str, format: str, stream: bool, vendor_url: str
) -> None:
    """The answer is a text without a call, with a normal stop."""
    reply = FaultyVendor(vendor_url, name).read_reply(format, question(ONE), stream=stream)

    assert reply.text == text
    assert not reply.calls
    assert reply.stop is Stop.END


def test_prose_is_the_content_of_a_plain_answer(vendor_url: str) -> None:
    """In Chat Completions the text is the content of a normal answer."""
    choice = FaultyVendor(vendor_url, "prose").read_body("openai", question(TWO))["choices"][0]

    assert choice["finish_reason"] == "stop"
    assert choice["message"]["content"] == PROSE.replace("probe_echo", "probe_echo and probe_add")
    assert "tool_calls" not in choice["message"]


EMPTY: dict[str, Any] = {
    "openai": lambda body: body["choices"][0]["message"]["content"] == "",
    "openai_responses": lambda body: body["output"] == [] and body["status"] == "completed",
    "anthropic": lambda body: body["content"] == [] and body["stop_reason"] == "end_turn",
    "gemini": lambda body: body["candidates"][0]["content"]["parts"] == [],
    "ollama": lambda body: body["message"] == {"role": "assistant", "content": ""},
}


@every_format
def test_an_empty_answer_has_nothing_in_it(format: str, vendor_url: str) -> None:
    """The answer has neither text nor a call, whole or streamed."""
    faulty = FaultyVendor(vendor_url, "empty")
    streamed = faulty.read_reply(format, question(ONE), stream=True)

    assert EMPTY[format](faulty.read_body(format, question(ONE)))
    assert not streamed.text
    assert not streamed.calls
    assert not streamed.broken
    assert streamed.stop is Stop.END


@both_ways
@every_format
def test_reasoning_can_be_all_there_is(format: str, stream: bool, vendor_url: str) -> None:
    """The answer is only reasoning, with a normal stop."""
    reply = FaultyVendor(vendor_url, "reasoning-only").read_reply(
        format, question(ONE), stream=stream
    )

    assert reply.reasoning == "The user wants something done. I should use probe_echo."
    assert not reply.text
    assert not reply.calls
    assert reply.stop is Stop.END


def test_reasoning_alone_is_in_its_field(vendor_url: str) -> None:
    """The content field is present and empty."""
    choice = FaultyVendor(vendor_url, "reasoning-only").read_body("openai", question(ONE))[
        "choices"
    ][0]

    assert choice["message"]["content"] == ""
    assert choice["message"]["reasoning_content"].startswith("The user wants")
    assert choice["finish_reason"] == "stop"


@both_ways
def test_a_text_ends_where_it_mentions_a_tag(stream: bool, vendor_url: str) -> None:
    """Z26: the rest of the text is silently lost."""
    call = question("Reply with exactly: 'write <tool_call> first'")
    reply = FaultyVendor(vendor_url, "cuts-at-tag").read_reply("openai", call, stream=stream)

    assert reply.text == "write "
    assert reply.stop_raw == "stop"


def test_calls_pass_where_texts_are_cut(vendor_url: str) -> None:
    """Only text is cut, not calls."""
    assert read_calls(
        FaultyVendor(vendor_url, "cuts-at-tag").read_reply("openai", question(ONE))
    ) == [ECHOED]


def test_a_finish_reason_can_promise_calls_that_are_not_there(vendor_url: str) -> None:
    """Z17: a finish reason for calls without any, in both formats that have one."""
    faulty = FaultyVendor(vendor_url, "phantom-finish")
    choice = faulty.read_body("openai", question(TWO))["choices"][0]
    message = faulty.read_body("anthropic", question(TWO))

    assert choice["finish_reason"] == "tool_calls"
    assert choice["message"]["content"] == ""
    assert "tool_calls" not in choice["message"]
    assert message["stop_reason"] == "tool_use"
    assert message["content"] == []


def test_a_stream_can_promise_calls_that_are_not_there(vendor_url: str) -> None:
    """Z17: no piece of a call precedes the finish reason for calls."""
    faulty = FaultyVendor(vendor_url, "phantom-finish")
    chat = read_frames(faulty.ask("openai", question(TWO), stream=True))
    claude = read_frames(faulty.ask("anthropic", question(TWO), stream=True))

    assert not any("tool_calls" in frame["choices"][0]["delta"] for frame in chat)
    assert chat[-1]["choices"][0]["finish_reason"] == "tool_calls"
    assert [frame["type"] for frame in claude] == ["message_start", "message_delta", "message_stop"]
    assert claude[1]["delta"]["stop_reason"] == "tool_use"


@both_ways
@pytest.mark.parametrize("format", ["openai", "anthropic"])
def test_a_phantom_is_read_as_no_call(format: str, stream: bool, vendor_url: str) -> None:
    """The reader relies on the calls, not the finish reason, and notes the deviation."""
    reply = FaultyVendor(vendor_url, "phantom-finish").read_reply(
        format, question(ONE), stream=stream
    )

    assert not reply.calls
    assert reply.stop is Stop.END
    assert "tool_calls_missing" in {deviation.name for deviation in reply.deviations}


@both_ways
@pytest.mark.parametrize("format", ["openai_responses", "gemini", "ollama"])
def test_formats_without_a_word_for_calls_have_no_phantom(
    format: str, stream: bool, vendor_url: str
) -> None:
    """Formats without a finish reason for calls are unaffected."""
    reply = FaultyVendor(vendor_url, "phantom-finish").read_reply(
        format, question(ONE), stream=stream
    )

    assert read_calls(reply) == [ECHOED]


@both_ways
def test_gemini_reports_its_own_call_as_malformed(stream: bool, vendor_url: str) -> None:
    """Z14: the candidate is empty, with a special finish reason."""
    faulty = FaultyVendor(vendor_url, "malformed-call")
    answer = faulty.ask("gemini", question(ONE), stream=stream)
    body = read_frames(answer)[-1] if stream else answer.json()
    candidate = body["candidates"][0]

    assert candidate["finishReason"] == "MALFORMED_FUNCTION_CALL"
    assert candidate["content"]["parts"] == []
    assert faulty.read_reply("gemini", question(ONE), stream=stream).stop is Stop.MALFORMED_CALL


def test_ollama_ends_a_stream_with_the_call_it_could_not_parse(vendor_url: str) -> None:
    """Z45: the stream of a 200 answer ends with an error line."""
    faulty = FaultyVendor(vendor_url, "malformed-call")
    last = read_frames(faulty.ask("ollama", question(ONE), stream=True))[-1]
    reply = faulty.read_reply("ollama", question(ONE), stream=True)

    assert set(last) == {"error"}
    assert last["error"].startswith('error parsing tool call: raw=\'{"message"')
    assert reply.broken[0].raw.endswith('"tag":"beta"}]')


@both_ways
@pytest.mark.parametrize("format", ["openai", "openai_responses", "anthropic"])
def test_a_malformed_call_is_an_empty_answer_elsewhere(
    format: str, stream: bool, vendor_url: str
) -> None:
    """Z14: a layer in between maps the finish reason to a normal stop."""
    reply = FaultyVendor(vendor_url, "malformed-call").read_reply(
        format, question(ONE), stream=stream
    )

    assert not reply.text
    assert not reply.calls
    assert not reply.broken
    assert reply.stop is Stop.END


TRUNCATED: dict[str, Any] = {
    "openai": lambda body: (
        body["choices"][0]["finish_reason"],
        body["choices"][0]["message"]["tool_calls"][0]["function"]["arguments"],
    ),
    "openai_responses": lambda body: (
        body["incomplete_details"]["reason"],
        body["output"][0]["arguments"],
    ),
    "anthropic": lambda body: (body["stop_reason"], body["content"][0]["input"]),
    "gemini": lambda body: (
        body["candidates"][0]["finishReason"],
        body["candidates"][0]["content"]["parts"][0]["functionCall"]["args"],
    ),
    "ollama": lambda body: (
        body["done_reason"],
        body["message"]["tool_calls"][0]["function"]["arguments"],
    ),
}
HALF: dict[str, tuple[str, Any]] = {
    "openai": ("length", '{"message":"naïve \\"am'),
    "openai_responses": ("max_output_tokens", '{"message":"naïve \\"am'),
    "anthropic": ("max_tokens", {"message": 'naïve "amber" ☕'}),
    "gemini": ("MAX_TOKENS", {"message": 'naïve "amber" ☕'}),
    "ollama": ("length", {"message": 'naïve "amber" ☕'}),
}


@every_format
def test_the_token_limit_ends_an_answer_inside_a_call(format: str, vendor_url: str) -> None:
    """Half of the arguments arrive: of their text, or of their object."""
    body = FaultyVendor(vendor_url, "truncated").read_body(format, question(TWO))

    assert TRUNCATED[format](body) == HALF[format]


@both_ways
@every_format
def test_a_truncated_call_is_never_read_as_a_call(
    format: str, stream: bool, vendor_url: str
) -> None:
    """The reply has one truncated call and nothing after it."""
    reply = FaultyVendor(vendor_url, "truncated").read_reply(format, question(TWO), stream=stream)

    assert not reply.calls
    assert [call.kind for call in reply.broken] == [Breakage.TRUNCATED_CALL]
    assert reply.stop is Stop.LENGTH


def test_streams_of_a_truncated_call_end_inside_its_json(vendor_url: str) -> None:
    """The concatenated pieces are the start of the arguments."""
    faulty = FaultyVendor(vendor_url, "truncated")
    chat = read_frames(faulty.ask("openai", question(ONE), stream=True))
    claude = read_frames(faulty.ask("anthropic", question(ONE), stream=True))
    calls = [c for f in chat for c in f["choices"][0]["delta"].get("tool_calls", [])]
    deltas = [f["delta"].get("partial_json", "") for f in claude if "delta" in f]

    assert "".join(call["function"]["arguments"] for call in calls) == HALF["openai"][1]
    assert "".join(deltas) == '{"message": "naïve \\"amber\\" ☕"'


@both_ways
@pytest.mark.parametrize(
    ("name", "text"), [("server-parse", UNPARSED), ("server-parse-end", ENDED)]
)
def test_ollama_fails_on_the_call_of_its_own_model(
    name: str, text: str, stream: bool, vendor_url: str
) -> None:
    """Z45 and Z46: the message of the 500 quotes the parse error."""
    body, error = read_refusal(vendor_url, name, "ollama", stream=stream)

    assert body == {"error": text}
    assert error.kind is FindingKind.SERVER_PARSE


@both_ways
@pytest.mark.parametrize(
    ("name", "text"), [("server-parse", UNPARSED), ("server-parse-end", ENDED)]
)
def test_ollama_wraps_the_failure_for_clients_of_chat_completions(
    name: str, text: str, stream: bool, vendor_url: str
) -> None:
    """On its /v1 path Ollama wraps the error in OpenAI's envelope."""
    body, error = read_refusal(vendor_url, name, "openai", stream=stream)

    assert body == {
        "error": {"message": text, "type": "api_error", "param": None, "code": None},
    }
    assert error.kind is FindingKind.SERVER_PARSE


@pytest.mark.parametrize("name", ["server-parse", "server-parse-end"])
@pytest.mark.parametrize("format", ["anthropic", "openai_responses", "gemini"])
def test_other_servers_parse_their_calls(name: str, format: str, vendor_url: str) -> None:
    """Only Ollama fails to parse its calls."""
    assert read_calls(FaultyVendor(vendor_url, name).read_reply(format, question(ONE))) == [ECHOED]


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_an_answer_without_calls_is_unchanged(fault: Fault, vendor_url: str) -> None:
    """Faults of this family change only answers with calls."""
    assert (
        FaultyVendor(vendor_url, fault.name).read_reply("openai", question(CHAT)).text
        == "good morning"
    )


def test_reasoning_before_a_call_can_be_present_and_empty(vendor_url: str) -> None:
    """Z05: the reasoning field is present and empty."""
    tool = {"type": "function", "function": {"name": "probe_ping", "parameters": {}}}
    request = {
        "model": "sim-v4",
        "messages": [{"role": "user", "content": "Call the tool probe_ping once."}],
        "tools": [tool],
    }
    url = f"{vendor_url}/with/empty-reasoning/deepseek/v1/chat/completions"
    key = {"authorization": "Bearer sim-test"}
    body: Any = httpx.post(url, json=request, headers=key, trust_env=False).json()

    message = body["choices"][0]["message"]
    assert message["reasoning_content"] == ""
    assert message["tool_calls"][0]["function"]["name"] == "probe_ping"
