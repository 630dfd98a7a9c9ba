from __future__ import annotations

import pytest

from probes.messages import Breakage, Location, ToolSpec
from probes.parsers import PARSERS
from probes.text_answer import TextAnswer, read_text_answer
from simulators.faults.fault import Fault
from simulators.faults.text.leaks import FAULTS
from tests.simulators.fault_client import (
    ADD,
    ADDED,
    ALL,
    CHAT,
    ECHO,
    ECHOED,
    EVERY_FORMAT,
    ONE,
    PING,
    PINGED,
    STORE,
    STORED,
    TWO,
    FaultyVendor,
    question,
    read_calls,
)

TOOLS: tuple[ToolSpec, ...] = (ECHO, ADD, PING, STORE)
ARGUMENTS = '{"message": "naïve \\"amber\\" ☕", "tag": "beta"}'
DSML = (
    '<｜DSML｜invoke name="probe_echo">\n'
    '<｜DSML｜parameter name="message" string="true">naïve "amber" ☕</｜DSML｜parameter>\n'
    '<｜DSML｜parameter name="tag" string="true">beta</｜DSML｜parameter>'
)
INVOKE = (
    '<invoke name="probe_echo">\n<parameter name="message">naïve "amber" ☕</parameter>\n'
    '<parameter name="tag">beta</parameter>\n</invoke>'
)


def spaced(space: str) -> str:
    """The same with a name space in every tag."""
    return (
        INVOKE.replace("</", f"</{space}:")
        .replace("\n<p", f"\n<{space}:p")
        .replace("<invoke", f"<{space}:invoke")
    )


QWEN = (
    '<tool_call>\n<function=probe_echo>\n<parameter=message>\nnaïve "amber" ☕\n</parameter>\n'
    "<parameter=tag>\nbeta\n</parameter>\n</function>\n</tool_call>"
)
M3 = "]<]minimax[>["
HARMONY = f"<|channel|>commentary to=functions.probe_echo <|constrain|>json<|message|>{ARGUMENTS}"
NAMED = f'{{"name": "probe_echo", "arguments": {ARGUMENTS}}}'
PYTHON = "probe_echo(message='naïve \"amber\" ☕', tag='beta')"
# The content in place of one call of probe_echo, by the fault's name.
WRITTEN = {
    "leak-dsml": f"\n\n<｜DSML｜tool_calls>\n{DSML}\n</｜DSML｜invoke>\n</｜DSML｜tool_calls>",
    "leak-deepseek-v3": "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>"
    f"probe_echo\n```json\n{ARGUMENTS}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
    "leak-deepseek-v31": "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>probe_echo<｜tool▁sep｜>"
    f"{ARGUMENTS}<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
    "leak-kimi-k2": "<|tool_calls_section_begin|><|tool_call_begin|>functions.probe_echo:0"
    f"<|tool_call_argument_begin|>{ARGUMENTS}<|tool_call_end|><|tool_calls_section_end|>",
    "leak-kimi-k3": '<|open|>tools<|sep|><|open|>call tool="probe_echo" index="1"<|sep|>'
    '<|open|>argument key="message" type="string"<|sep|>naïve "amber" ☕<|close|>argument<|sep|>'
    '<|open|>argument key="tag" type="string"<|sep|>beta<|close|>argument<|sep|>'
    "<|close|>call<|sep|><|close|>tools<|sep|>",
    "leak-minimax-m3": f'{M3}<tool_call>\n{M3}<invoke name="probe_echo">'
    f'{M3}<message>naïve "amber" ☕{M3}</message>{M3}<tag>beta{M3}</tag>'
    f"{M3}</invoke>\n{M3}</tool_call>",
    "leak-minimax-m2": f"<minimax:tool_call>\n{INVOKE}\n</minimax:tool_call>",
    "leak-harmony": f"{HARMONY}<|call|>",
    "leak-mistral": f"[TOOL_CALLS]probe_echo[ARGS]{ARGUMENTS}",
    "leak-hermes": f'<tool_call>\n{{"name": "probe_echo", "arguments": {ARGUMENTS}}}\n</tool_call>',
    "leak-qwen-xml": QWEN,
    "leak-llama-function": f"<function=probe_echo>{ARGUMENTS}</function>",
    "leak-name-arguments": "<tool_call><name>probe_echo</name>"
    f"<arguments>{ARGUMENTS}</arguments></tool_call>",
    "leak-glm": '<tool_call>probe_echo<arg_key>message</arg_key><arg_value>naïve "amber" ☕'
    "</arg_value><arg_key>tag</arg_key><arg_value>beta</arg_value></tool_call>",
    "leak-invoke": f"<function_calls>\n{INVOKE}\n</function_calls>",
    "leak-child-invoke": '<invoke><probe_echo><message>naïve "amber" ☕</message><tag>beta</tag>'
    "</probe_echo></invoke>",
    "leak-llama-json": f'<|python_tag|>{{"name": "probe_echo", "parameters": {ARGUMENTS}}}',
    "leak-pythonic": f"[{PYTHON}]",
    "leak-gemma4": '<|tool_call>call:probe_echo{message:<|"|>naïve "amber" ☕<|"|>,'
    'tag:<|"|>beta<|"|>}<tool_call|>',
    "leak-functiongemma": "<start_function_call>call:probe_echo{"
    'message:<escape>naïve "amber" ☕<escape>,tag:<escape>beta<escape>}<end_function_call>',
    "leak-llama4": f"<|python_start|>[{PYTHON}]<|python_end|>",
    "leak-lfm2": f"<|tool_call_start|>[{PYTHON}]<|tool_call_end|>",
    "leak-olmo3": f"<function_calls>\n{PYTHON}\n</function_calls>",
    "leak-tool-code": f"```tool_code\n{PYTHON}\n```",
    "leak-json-text": f'```json\n{{"name": "probe_echo", "arguments": {ARGUMENTS}}}\n```',
    "leak-phi4-mini": f"functools[{NAMED}]",
    "leak-granite3": f"<|tool_call|>[{NAMED}]",
    "leak-cohere": '<|START_ACTION|>[\n    {"tool_call_id": "0", "tool_name": "probe_echo", '
    f'"parameters": {ARGUMENTS}}}\n]<|END_ACTION|>',
    "leak-command-r": 'Action: ```json\n[\n    {"tool_name": "probe_echo", '
    f'"parameters": {ARGUMENTS}}}\n]\n```',
    "leak-tool-calls": f"<tool_calls>[{NAMED}]</tool_calls>",
    "leak-nemotron": f"<TOOLCALL>[{NAMED}]</TOOLCALL>",
    "leak-longcat": f"<longcat_tool_call>\n{NAMED}\n</longcat_tool_call>",
    "leak-internlm": '<|action_start|><|plugin|>\n{"name": "probe_echo", '
    f'"parameters": {ARGUMENTS}}}<|action_end|>',
    "leak-apertus": f'<|tools_prefix|>[{{"probe_echo": {ARGUMENTS}}}]<|tools_suffix|>',
    "leak-xlam": f'{{"tool_calls": [{NAMED}]}}',
    "leak-hunyuan3": "<tool_calls:opensource>\n"
    "<tool_call:opensource>probe_echo<tool_sep:opensource>\n"
    "<arg_key:opensource>message</arg_key:opensource>\n"
    '<arg_value:opensource>naïve "amber" ☕</arg_value:opensource>\n'
    "<arg_key:opensource>tag</arg_key:opensource>\n"
    "<arg_value:opensource>beta</arg_value:opensource>\n"
    "</tool_call:opensource>\n</tool_calls:opensource>",
    "leak-seed-oss": "<seed:tool_call>\n<function=probe_echo>\n"
    '<parameter=message>naïve "amber" ☕</parameter>\n<parameter=tag>beta</parameter>\n'
    "</function>\n</seed:tool_call>",
    "leak-step3": "<｜tool_calls_begin｜>\n<｜tool_call_begin｜>function<｜tool_sep｜>"
    f"{spaced('steptml')}<｜tool_call_end｜>\n<｜tool_calls_end｜>",
    "leak-minicpm5": '<function name="probe_echo"><param name="message">naïve "amber" ☕</param>'
    '<param name="tag">beta</param></function>',
    "leak-muse-glimmer": " to=probe_echo<|message|><atem:function_calls>\n"
    f"{spaced('atem')}\n</atem:function_calls>",
    "leak-inkling": 'probe_echo<|content_invoke_tool_json|>{"name": "probe_echo", "args": '
    f"{ARGUMENTS}}}<|end_message|>",
    "leak-dots": f"<dots_function_call>\n{INVOKE}\n</dots_function_call>",
    "leak-gigachat3": f'<|function_call|>{{"name": "probe_echo", "arguments": {ARGUMENTS}}}',
    "leak-solar-open": "<|tool_calls|><|tool_call:begin|>0000000000<|tool_call:name|>probe_echo"
    f"<|tool_call:args|>{ARGUMENTS}<|tool_call:end|><|calls|>",
    "leak-solar-open2": "<|tool_call:start|>probe_echo\n"
    '<|tool_arg:start|>message<|tool_arg:value|>naïve "amber" ☕<|tool_arg:end|>\n'
    "<|tool_arg:start|>tag<|tool_arg:value|>beta<|tool_arg:end|>\n<|tool_call:end|>",
    "leak-functionary": f"probe_echo\n{ARGUMENTS}",
    "leak-qwen-agent": f"✿FUNCTION✿: probe_echo\n✿ARGS✿: {ARGUMENTS}",
    "leak-react": f"Action: probe_echo\nAction Input: {ARGUMENTS}",
    "leak-dsml-bare": f"\n\n{DSML}\n</｜DSML｜invoke>",
    "leak-dsml-block": f"\n\n<｜DSML｜function_calls>\n{DSML}\n</｜DSML｜invoke>\n"
    "</｜DSML｜function_calls>",
    "leak-unterminated": f"\n\n<｜DSML｜tool_calls>\n{DSML}",
    "leak-harmony-stripped": f"assistantcommentary to=functions.probe_echo json{ARGUMENTS}",
    "leak-harmony-no-call": HARMONY,
    "leak-doubled-close": QWEN.replace("</parameter>", "</parameter>\n</parameter>"),
}
every_leak = pytest.mark.parametrize("name", WRITTEN)
# Its last call has no end tag, so parameters may be missing: it is found, and is not executable.
UNTERMINATED = "leak-unterminated"
readable_leak = pytest.mark.parametrize("name", [name for name in WRITTEN if name != UNTERMINATED])


def recover_calls(text: str | None) -> TextAnswer:
    return read_text_answer([text or ""], TOOLS)


def read_text_calls(text: str | None) -> list[tuple[str, object]]:
    return [(call.name, dict(call.input)) for call in recover_calls(text).calls]


def test_every_text_format_can_leak() -> None:
    """Every parser has a leak that it can read."""
    names = {f"leak-{parser.replace('_', '-')}" for parser in PARSERS}

    assert names <= set(WRITTEN)
    assert {fault.name for fault in FAULTS} == {*WRITTEN, "leak-in-reasoning", "leak-and-call"}


@every_leak
def test_a_leaked_call_is_content_with_a_plain_stop(name: str, vendor_url: str) -> None:
    """The content is the text that engines let through, without a call."""
    choice = FaultyVendor(vendor_url, name).read_body("openai", question(ONE))["choices"][0]

    assert choice["message"]["content"] == WRITTEN[name]
    assert "tool_calls" not in choice["message"]
    assert choice["finish_reason"] == "stop"


@every_leak
def test_a_leak_streams_the_same_text(name: str, vendor_url: str) -> None:
    """The text is streamed in small pieces, without a call delta."""
    reply = FaultyVendor(vendor_url, name).read_reply("openai", question(ONE), stream=True)

    assert reply.text == WRITTEN[name]
    assert not reply.calls
    assert read_text_calls(reply.text) == ([] if name == UNTERMINATED else [ECHOED])


@readable_leak
def test_our_parsers_recover_every_leaked_call(name: str, vendor_url: str) -> None:
    """Several calls, empty, nested and non-ASCII ones, keep their names and inputs."""
    reply = FaultyVendor(vendor_url, name).read_reply("openai", question(ALL, ECHO, PING, STORE))
    answer = recover_calls(reply.text)

    assert read_text_calls(reply.text) == [ECHOED, PINGED, STORED]
    assert answer.text is None
    assert not answer.broken


def test_the_call_without_an_end_tag_is_found_and_is_not_executable(vendor_url: str) -> None:
    """The calls before it are whole."""
    vendor = FaultyVendor(vendor_url, UNTERMINATED)
    reply = vendor.read_reply("openai", question(ALL, ECHO, PING, STORE))
    answer = recover_calls(reply.text)

    assert read_text_calls(reply.text) == [ECHOED, PINGED]
    assert [(call.name, call.kind) for call in answer.broken] == [
        (STORED[0], Breakage.TRUNCATED_CALL)
    ]
    assert answer.text is None


@pytest.mark.parametrize("fault", FAULTS[:-2], ids=lambda fault: fault.name)
def test_the_truth_names_the_parser_that_recovers_the_calls(fault: Fault, vendor_url: str) -> None:
    """The parser in `/_truth` is the one that our reader uses; a cut call has none."""
    reply = FaultyVendor(vendor_url, fault.name).read_reply("openai", question(TWO))
    formats = {call.format for call in recover_calls(reply.text).calls}

    parser = "dsml" if fault.name == UNTERMINATED else fault.effect.fields["parser"]
    assert formats == {parser}
    assert (fault.effect.fields["tool_call_format"] == "unsettled") == (fault.name == UNTERMINATED)


@pytest.mark.parametrize("format", EVERY_FORMAT)
@pytest.mark.parametrize("stream", [False, True])
def test_a_call_leaks_in_every_wire_format(format: str, stream: bool, vendor_url: str) -> None:
    """A leak is text, so it can occur in every format."""
    reply = FaultyVendor(vendor_url, "leak-minimax-m2").read_reply(
        format, question(TWO), stream=stream
    )

    assert not reply.calls
    assert read_text_calls(reply.text) == [ECHOED, ADDED]


@pytest.mark.parametrize("format", EVERY_FORMAT)
@pytest.mark.parametrize("stream", [False, True])
def test_a_call_can_leak_into_the_reasoning_only(
    format: str, stream: bool, vendor_url: str
) -> None:
    """Z25: neither content nor a call, and the reasoning ends in Qwen's XML."""
    reply = FaultyVendor(vendor_url, "leak-in-reasoning").read_reply(
        format, question(ONE), stream=stream
    )

    assert not reply.text
    assert not reply.calls
    assert (reply.reasoning or "").endswith(f"\n{QWEN}")
    assert read_text_calls(reply.reasoning) == [ECHOED]


def test_thinking_models_leak_into_the_reasoning_they_show(vendor_url: str) -> None:
    """The reasoning stays in the vendor's own field."""
    call = question(ONE, chat_template_kwargs={"enable_thinking": True})
    message = FaultyVendor(vendor_url, "leak-in-reasoning").read_body("vllm", call)["choices"][0][
        "message"
    ]

    assert message["reasoning"].startswith("The user wants something done.")
    assert message["reasoning"].endswith(QWEN)
    assert message["content"] == ""


def test_a_thinking_block_with_a_leak_is_signed(vendor_url: str) -> None:
    """A client can replay the block unchanged."""
    call = question(ONE, thinking={"type": "enabled", "budget_tokens": 1024})
    content = FaultyVendor(vendor_url, "leak-in-reasoning").read_body("anthropic", call)["content"]

    assert [block["type"] for block in content] == ["thinking"]
    assert content[0]["thinking"].endswith(QWEN)
    assert content[0]["signature"]


@pytest.mark.parametrize("stream", [False, True])
def test_a_call_can_be_on_the_wire_and_in_the_text(stream: bool, vendor_url: str) -> None:
    """Both contain the same call, and the stop reason is the one for calls."""
    reply = FaultyVendor(vendor_url, "leak-and-call").read_reply(
        "openai", question(ONE), stream=stream
    )

    assert read_calls(reply) == [ECHOED]
    assert reply.text == WRITTEN["leak-hermes"]
    assert reply.stop_raw == "tool_calls"


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_an_answer_without_calls_does_not_leak(fault: Fault, vendor_url: str) -> None:
    """An answer without calls is unchanged."""
    reply = FaultyVendor(vendor_url, fault.name).read_reply("openai", question(CHAT))

    assert reply.text == "good morning"
    assert reply.reasoning is None


def test_a_call_in_the_reasoning_has_that_location(vendor_url: str) -> None:
    """A call in the reasoning is not a call of the answer."""
    reply = FaultyVendor(vendor_url, "leak-in-reasoning").read_reply("openai", question(ONE))
    [call] = read_text_answer([f"<think>{reply.reasoning}</think>"], TOOLS).calls

    assert call.location is Location.REASONING
