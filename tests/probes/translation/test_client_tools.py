"""Tools that are more than functions: seen by name, sent where they are known, and restored."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Any

import pytest
from openai.types.responses import Response

from probes.adapters import FORMATS
from probes.adapters.base import write_event_stream
from probes.losses import LossKind
from probes.messages import ModelCall, Reply, Role, Stop, Text, ToolCall, ToolChoice, ToolSpec, Turn
from probes.streams.assembler import reply_events
from probes.tool_name_map import NAME_RULES, fit_tool_names
from tests.probes.adapters.wire_bodies import read_stream
from tests.probes.translation.sdk_types import VALIDATORS

OTHERS = sorted(set(FORMATS) - {"openai_responses"})
FUNCTION: Any = {"type": "function", "name": "f", "parameters": {"type": "object"}}
SPAWN: Any = {
    "type": "function",
    "name": "spawn",
    "parameters": {"type": "object"},
    "strict": False,
}
GRAMMAR: Any = {"type": "grammar", "syntax": "lark", "definition": "start: /.+/"}
PATCH: Any = {"type": "custom", "name": "apply_patch", "description": "Edits.", "format": GRAMMAR}
AGENTS: Any = {
    "type": "namespace",
    "name": "agents",
    "description": "Helpers.",
    "tools": [SPAWN, {**PATCH, "name": "note"}],
}
SEARCH: Any = {"type": "web_search", "search_context_size": "low"}
# As Codex asks: a namespace, free text, a tool of the vendor, and calls of all of them.
CODEX: Any = {
    "model": "m",
    "tools": [FUNCTION, AGENTS, SEARCH, PATCH],
    "tool_choice": {
        "type": "allowed_tools",
        "mode": "auto",
        "tools": [{"type": "function", "name": "f"}, {"type": "custom", "name": "apply_patch"}],
    },
    "input": [
        {"type": "message", "role": "user", "content": "Go."},
        {
            "type": "function_call",
            "call_id": "c1",
            "namespace": "agents",
            "name": "spawn",
            "arguments": "{}",
        },
        {
            "type": "custom_tool_call",
            "call_id": "c2",
            "name": "apply_patch",
            "input": '*** Begin\n"x"',
        },
        {"type": "function_call_output", "call_id": "c1", "output": "1"},
        {"type": "custom_tool_call_output", "call_id": "c2", "output": "done"},
    ],
}
TYPED: dict[str, tuple[Any, list[tuple[str, str]]]] = {
    "anthropic": (
        {
            "model": "m",
            "max_tokens": 1,
            "messages": [{"role": "user", "content": "Go."}],
            "tools": [
                {"type": "bash_20250124", "name": "bash"},
                {"name": "f", "input_schema": {"type": "object"}},
                {"type": "text_editor_20250728", "name": "str_replace_based_edit_tool"},
                {"type": "web_fetch_20250910", "name": "web_fetch", "max_uses": 2},
                {"type": "mcp_toolset", "mcp_server_name": "files"},
            ],
        },
        [
            ("bash", "bash_20250124"),
            ("str_replace_based_edit_tool", "text_editor_20250728"),
            ("web_fetch", "web_fetch_20250910"),
            ("files", "mcp_toolset"),
        ],
    ),
    "gemini": (
        {
            "contents": [{"role": "user", "parts": [{"text": "Go."}]}],
            "tools": [
                {"functionDeclarations": [{"name": "f", "description": ""}]},
                {"googleSearch": {}, "codeExecution": {}},
                {"computerUse": {"environment": "ENVIRONMENT_BROWSER"}},
            ],
        },
        [
            ("googleSearch", "googleSearch"),
            ("codeExecution", "codeExecution"),
            ("computerUse", "computerUse"),
        ],
    ),
    "openai_responses": (
        {
            "model": "m",
            "input": [{"type": "message", "role": "user", "content": "Go."}],
            "tools": [
                {"type": "mcp", "server_label": "files", "server_url": "https://mcp.example"},
                FUNCTION,
                SEARCH,
                {"type": "namespace", "name": "empty", "description": "", "tools": []},
            ],
        },
        [("files", "mcp"), ("web_search", "web_search"), ("empty", "namespace")],
    ),
}


def written(format: str, call: ModelCall) -> Any:
    return json.loads(json.dumps(FORMATS[format].write_request(call)))


@pytest.mark.parametrize("format", sorted(TYPED))
def test_typed_tools_are_listed_and_written_back(format: str) -> None:
    """A caller sees each tool that the format defines, by name; the request is unchanged."""
    body, names = TYPED[format]

    call = FORMATS[format].read_request(body)

    assert [(tool.name, tool.kind) for tool in call.vendor_tools] == names
    assert [spec.name for spec in call.tools] == ["f"]
    assert written(format, call) == body


@pytest.mark.parametrize("format", sorted(TYPED))
def test_a_withheld_tool_is_in_no_request(format: str) -> None:
    """Whoever drops a tool from the list drops it from the bytes."""
    body, names = TYPED[format]
    call = FORMATS[format].read_request(body)

    for index, (_, type_) in enumerate(names):
        kept = (*call.vendor_tools[:index], *call.vendor_tools[index + 1 :])
        sent = json.dumps(written(format, replace(call, vendor_tools=kept)))
        assert type_ not in sent
        assert all(tool.kind in sent for tool in kept)


@pytest.mark.parametrize("format", sorted(TYPED))
def test_a_typed_tool_is_a_loss_elsewhere(format: str) -> None:
    """No other format defines it, so it is left out and reported."""
    body, names = TYPED[format]
    call = FORMATS[format].read_request(body)
    forced = replace(call, tool_choice=ToolChoice("named", names[0][0]))

    for other in set(FORMATS) - {format}:
        losses = [loss for loss in FORMATS[other].losses(call) if loss.kind is LossKind.VENDOR_TOOL]
        assert len(losses) == len(names)
        assert all(type_ not in json.dumps(written(other, call)) for _, type_ in names)
        sent = written(other, forced)
        assert "tool_choice" not in sent
        assert "toolConfig" not in sent
        assert LossKind.TOOL_CHOICE in {loss.kind for loss in FORMATS[other].losses(forced)}


def test_codexs_request_is_read_and_written_back() -> None:
    """Namespaces and free text are functions here, and as declared in their own format."""
    call = FORMATS["openai_responses"].read_request(CODEX)

    names = ["f", "agents__spawn", "agents__note", "apply_patch"]
    assert [spec.name for spec in call.tools] == names
    assert call.tool_choice == ToolChoice("auto", names=("f", "apply_patch"))
    calls = call.turns[1].calls
    assert [(part.name, part.input) for part in calls] == [
        ("agents__spawn", {}),
        ("apply_patch", {"input": '*** Begin\n"x"'}),
    ]
    assert written("openai_responses", call) == CODEX
    VALIDATORS["openai_responses"](written("openai_responses", call))


def test_a_namespace_loses_only_the_tool_that_is_withheld() -> None:
    """Its other tools stay under their common name."""
    call = FORMATS["openai_responses"].read_request(CODEX)
    kept = tuple(spec for spec in call.tools if spec.name != "agents__spawn")

    tools = written("openai_responses", replace(call, tools=kept))["tools"]

    assert tools[1] == {**AGENTS, "tools": AGENTS["tools"][1:]}


@pytest.mark.parametrize("other", OTHERS)
def test_codexs_tools_are_functions_elsewhere(other: str) -> None:
    """History, tools and choice have one name each; free text is one argument."""
    call = FORMATS["openai_responses"].read_request(CODEX)

    sent = written(other, call)
    read = FORMATS[other].read_request(sent)

    assert [spec.name for spec in read.tools] == [spec.name for spec in call.tools]
    assert [part.name for part in read.turns[1].calls] == ["agents__spawn", "apply_patch"]
    assert read.turns[1].calls[1].input == {"input": '*** Begin\n"x"'}
    assert read.tools[3].schema == call.tools[3].schema
    assert "lark grammar:\nstart" in json.dumps(sent).replace("\\n", "\n")
    if other == "openai":
        VALIDATORS["openai"](sent)


def answer_of(format: str) -> Reply:
    """An endpoint's answer that calls a tool of a namespace and one of free text."""
    patch = {"input": "*** Begin"}
    return Reply(
        (
            ToolCall("c8", "agents__spawn", {"a": 1}, format, '{"a": 1}'),
            ToolCall("c9", "apply_patch", patch, format, json.dumps(patch)),
        ),
        Stop.TOOL_CALLS,
        id="r",
        model="m",
    )


@pytest.mark.parametrize("endpoint", OTHERS)
def test_calls_come_back_to_codex_as_it_declared_its_tools(endpoint: str) -> None:
    """Whole and streamed: a function in its namespace, and free text."""
    call = FORMATS["openai_responses"].read_request(CODEX)
    _, names = fit_tool_names(call, endpoint)
    reply = answer_of(endpoint)
    client = FORMATS["openai_responses"]

    whole: Any = client.write_reply(names.restore_reply(reply))
    events = [names.restore_event(event) for event in reply_events(reply)]
    streamed = b"".join(write_event_stream(client, events)).decode()

    for item in (*whole["output"], *_finished_items(streamed)):
        if item["call_id"] == "c8":
            assert (item["type"], item["namespace"], item["name"]) == (
                "function_call",
                "agents",
                "spawn",
            )
            assert item["arguments"] == '{"a": 1}'
        else:
            assert (item["type"], item["name"]) == ("custom_tool_call", "apply_patch")
            assert item["input"] == "*** Begin"
    assert "response.custom_tool_call_input.done" in streamed
    Response.model_validate(whole)
    calls = read_stream(client, streamed.encode()).calls
    assert [(part.id, part.name, part.client_tool) for part in calls] == [
        (part.id, part.name, part.client_tool) for part in client.read_reply(whole).calls
    ]


def _finished_items(stream: str) -> list[Any]:
    bodies = [json.loads(data) for data in re.findall(r"^data: (.*)$", stream, re.MULTILINE)]
    return [body["item"] for body in bodies if body["type"] == "response.output_item.done"]


def test_free_text_of_chat_completions_is_restored() -> None:
    """A custom tool of a chat client over any endpoint, whole and streamed."""
    chat = FORMATS["openai"]
    custom: Any = {"type": "custom", "custom": {"name": "sh", "format": {"type": "text"}}}
    call: Any = {"id": "c1", "type": "custom", "custom": {"name": "sh", "input": "ls"}}
    body: Any = {
        "model": "m",
        "messages": [
            {"role": "user", "content": "Go."},
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "c1", "content": "a"},
        ],
        "tools": [custom],
        "tool_choice": {"type": "custom", "custom": {"name": "sh"}},
    }
    question = chat.read_request(body)
    text = {"input": "pwd"}
    reply = Reply(
        (ToolCall("c2", "sh", text, "anthropic", json.dumps(text)),),
        Stop.TOOL_CALLS,
        id="r",
        model="m",
    )
    _, names = fit_tool_names(question, "anthropic")

    events = [names.restore_event(event) for event in reply_events(reply)]
    stream = b"".join(write_event_stream(chat, events))
    whole: Any = chat.write_reply(names.restore_reply(reply))

    assert written("openai", question) == body
    assert written("anthropic", question)["tool_choice"] == {"type": "tool", "name": "sh"}
    expected = {"id": "c2", "type": "custom", "custom": {"name": "sh", "input": "pwd"}}
    assert whole["choices"][0]["message"]["tool_calls"] == [expected]
    assert read_stream(chat, stream).calls == chat.read_reply(whole).calls
    assert b'"type": "function"' not in stream


def test_a_streamed_call_of_free_text_that_is_cut_is_broken() -> None:
    """Half a patch must not be applied."""
    chat = FORMATS["openai"]
    custom = {"name": "sh", "input": "rm -rf /tmp/x"}
    entry: Any = {"index": 0, "id": "c", "type": "custom", "custom": custom}
    delta: Any = {"tool_calls": [entry]}
    chunk = {"id": "r", "choices": [{"index": 0, "delta": delta, "finish_reason": None}]}

    reply = read_stream(chat, f"data: {json.dumps(chunk)}\n\n".encode())

    assert reply.calls == ()
    assert reply.broken[0].name == "sh"


LONG = "mcp__a_server_with_a_very_long_name__and_a_tool_with_an_even_longer_name"
NAMES = (LONG, LONG + "_2", "do.it", "do:it", "do_it", "1st", "f")


def conversation(names: tuple[str, ...]) -> ModelCall:
    tools = tuple(ToolSpec(name, "", {"type": "object"}) for name in names)
    calls = tuple(ToolCall(f"c{i}", name, {}, "", "{}") for i, name in enumerate(names))
    turns = (Turn(Role.USER, (Text("Go."),)), Turn(Role.ASSISTANT, calls))
    return ModelCall("m", turns, tools, tool_choice=ToolChoice("named", names[0]))


@pytest.mark.parametrize("format", sorted(FORMATS))
def test_names_that_a_format_refuses_are_mapped_and_restored(format: str) -> None:
    """Too long, or with a dot: in tools, choice and history, one name each, and back."""
    call = conversation(NAMES)

    fitted, names = fit_tool_names(call, format)

    sent = [spec.name for spec in fitted.tools]
    assert all(NAME_RULES[format].fullmatch(name) for name in sent)
    assert len(set(sent)) == len(NAMES)
    assert [part.name for part in fitted.turns[1].calls] == sent
    assert fitted.tool_choice == ToolChoice("named", sent[0])
    reply = Reply(fitted.turns[1].parts, Stop.TOOL_CALLS)
    assert [part.name for part in names.restore_reply(reply).calls] == list(NAMES)
    events = [names.restore_event(event) for event in reply_events(reply)]
    assert [event.name for event in events if hasattr(event, "name")] == list(NAMES)


def test_the_map_is_the_same_in_every_request_of_a_conversation() -> None:
    """Names are a function of the tools; a longer history changes none of them."""
    call = conversation(NAMES)
    later = replace(call, turns=(*call.turns, Turn(Role.USER, (Text("And?"),))))

    assert fit_tool_names(call, "openai")[1] == fit_tool_names(later, "openai")[1]
    assert fit_tool_names(conversation(("f", "g")), "openai")[0] is not None
    assert fit_tool_names(conversation(("f", "g")), "openai")[1].names == {}


def test_a_namespace_never_takes_the_name_of_another_tool() -> None:
    """A client's function may be called like a tool with its namespace."""
    body = CODEX | {"tools": [{**FUNCTION, "name": "agents__spawn"}, AGENTS]}
    responses = FORMATS["openai_responses"]
    call = responses.read_request(body)
    _, names = fit_tool_names(call, "openai")

    assert [spec.name for spec in call.tools] == ["agents__spawn", "agents__spawn_", "agents__note"]
    assert call.turns[1].calls[0].name == "agents__spawn_"
    assert written("openai_responses", call)["tools"] == body["tools"]
    native = responses.read_reply({"status": "completed", "output": [CODEX["input"][1]]})
    assert names.restore_reply(native).calls[0].name == "agents__spawn_"
