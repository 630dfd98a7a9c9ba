from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given

from probes.adapters.gemini.adapter import GeminiAdapter
from probes.errors import WireError
from probes.losses import LossKind
from probes.messages import (
    BrokenCall,
    ModelCall,
    Reasoning,
    ReasoningKind,
    Role,
    Text,
    ToolCall,
    ToolChoice,
    ToolResult,
    ToolSpec,
    Turn,
)
from probes.secret import Secret
from tests.probes.adapters.gemini_bodies import requests

ADAPTER = GeminiAdapter()
CALL = ToolCall("call_1", "f", {"a": 1}, "openai", '{"a":1}')
OTHER = ToolCall("call_2", "g", {}, "openai", "{}")


def ask(*turns: Turn, **over: Any) -> ModelCall:
    return ModelCall("m", turns, **over)


def write_question(*turns: Turn, **over: Any) -> Any:
    return ADAPTER.write_request(ask(*turns, **over))


def user(text: str) -> Turn:
    return Turn(Role.USER, (Text(text),))


def results(*tool_results: ToolResult) -> Turn:
    return Turn(Role.TOOL, tool_results)


def test_a_three_step_conversation_is_written_as_the_format_wants_it() -> None:
    """System separate, model only in the URL, results named after their tools, errors by key."""
    call = ask(
        Turn(Role.SYSTEM, (Text("brief"),)),
        user("go"),
        Turn(Role.ASSISTANT, (Text("I will"), CALL, OTHER)),
        results(ToolResult("call_1", "one"), ToolResult("call_2", "no", is_error=True)),
        tools=(ToolSpec("f", "does", {"type": "object"}), ToolSpec("g", "", None)),
        tool_choice=ToolChoice("named", "f"),
        stream=True,
    )

    assert ADAPTER.write_request(call) == {
        "systemInstruction": {"parts": [{"text": "brief"}]},
        "contents": [
            {"role": "user", "parts": [{"text": "go"}]},
            {
                "role": "model",
                "parts": [
                    {"text": "I will"},
                    {"functionCall": {"name": "f", "args": {"a": 1}, "id": "call_1"}},
                    {"functionCall": {"name": "g", "args": {}, "id": "call_2"}},
                ],
            },
            {
                "role": "user",
                "parts": [
                    {
                        "functionResponse": {
                            "name": "f",
                            "id": "call_1",
                            "response": {"output": "one"},
                        }
                    },
                    {
                        "functionResponse": {
                            "name": "g",
                            "id": "call_2",
                            "response": {"error": "no"},
                        }
                    },
                ],
            },
        ],
        "tools": [
            {
                "functionDeclarations": [
                    {
                        "name": "f",
                        "description": "does",
                        "parametersJsonSchema": {"type": "object"},
                    },
                    {"name": "g", "description": ""},
                ]
            }
        ],
        "toolConfig": {"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["f"]}},
        "generationConfig": {"maxOutputTokens": 1024},
    }


def test_z10_the_results_of_one_step_are_one_content() -> None:
    """As many response parts as call parts, in the next turn."""
    body = write_question(
        user("go"),
        Turn(Role.ASSISTANT, (CALL, OTHER)),
        results(ToolResult("call_1", "1")),
        results(ToolResult("call_2", "2")),
    )

    assert len(body["contents"]) == 3
    assert len(body["contents"][2]["parts"]) == 2


def test_z10_a_broken_call_takes_its_result_along() -> None:
    """A call that is not written leaves no response part."""
    broken = BrokenCall("{", "no JSON", id="call_9", name="f")
    turns = (
        user("go"),
        Turn(Role.ASSISTANT, (broken, CALL)),
        results(ToolResult("call_9", "bad", is_error=True), ToolResult("call_1", "1")),
    )

    body = write_question(*turns)

    assert len(body["contents"][1]["parts"]) == len(body["contents"][2]["parts"]) == 1
    assert [loss.kind for loss in ADAPTER.losses(ask(*turns))] == [LossKind.BROKEN_CALL] * 2


def test_z12_a_signature_goes_back_on_the_part_it_came_on() -> None:
    """On a call, a thought, a text or an empty trailing text: always on its own part."""
    parts: list[Any] = [
        {"text": "hm", "thought": True, "thoughtSignature": "QQ=="},
        {"functionCall": {"name": "f", "args": {}}, "thoughtSignature": "Qg=="},
        {"functionCall": {"name": "f", "args": {}}},
        {"text": "hi", "thoughtSignature": "Qw=="},
        {"text": "", "thoughtSignature": "RA=="},
    ]
    body: Any = {"contents": [{"role": "model", "parts": parts}]}

    call = ADAPTER.read_request(body)

    assert call.turns[0].parts[0] == Reasoning("hm", ReasoningKind.THOUGHT, parts[0])
    assert ADAPTER.write_request(call)["contents"] == body["contents"]


def test_calls_without_ids_get_some_and_results_find_them_by_name_and_order() -> None:
    """Two calls of one tool are answered in order; no id is sent if none was received."""
    body: Any = {
        "contents": [
            {
                "role": "model",
                "parts": [
                    {"functionCall": {"name": "f", "args": {"n": 1}}},
                    {"functionCall": {"name": "g"}},
                    {"functionCall": {"name": "f", "args": {"n": 2}}},
                ],
            },
            {
                "role": "user",
                "parts": [
                    {"functionResponse": {"name": "g", "response": {"output": "g"}}},
                    {"functionResponse": {"name": "f", "response": {"output": "1"}}},
                    {"functionResponse": {"name": "f", "response": {"output": "2"}}},
                ],
            },
        ]
    }

    call = ADAPTER.read_request(body)

    one, two, three = (item.id for item in call.turns[0].calls)
    assert len({one, two, three}) == 3
    assert [item.call_id for item in call.turns[1].results] == [two, one, three]
    contents: Any = ADAPTER.write_request(call)["contents"]
    assert contents[1] == body["contents"][1]
    assert "id" not in contents[0]["parts"][0]["functionCall"]


def test_an_object_as_result_is_kept_and_readable() -> None:
    """An object is sent back unchanged; other formats get it as JSON text."""
    response = {"temp": 20, "error": ""}
    part = {"functionResponse": {"name": "f", "id": "c", "response": response}}
    body: Any = {"contents": [{"role": "function", "parts": [part]}]}

    call = ADAPTER.read_request(body)

    result = call.turns[0].results[0]
    assert (result.content, result.is_error) == ('{"temp": 20, "error": ""}', False)
    assert ADAPTER.write_request(call)["contents"] == body["contents"]


def test_an_error_of_a_client_is_read_by_its_key() -> None:
    """By convention the text of a failed tool is under "error"."""
    part = {"functionResponse": {"name": "f", "id": "c", "response": {"error": "no"}}}
    body: Any = {"contents": [{"role": "user", "parts": [part]}]}

    result = ADAPTER.read_request(body).turns[0].results[0]

    assert (result.content, result.is_error) == ("no", True)


def test_a_result_of_ours_has_no_id_where_its_call_had_none() -> None:
    """An older model that sends no ids receives none."""
    bare: Any = {"functionCall": {"name": "f", "args": {}}}
    call = ADAPTER.read_request({"contents": [{"role": "model", "parts": [bare]}]})
    read_call = call.turns[0].calls[0]

    contents = write_question(*call.turns, results(ToolResult(read_call.id, "1")))["contents"]

    response = {"name": "f", "response": {"output": "1"}}
    assert contents[1]["parts"] == [{"functionResponse": response}]


def test_results_and_text_in_one_content_are_told_apart() -> None:
    """User text beside results becomes a separate turn."""
    part = {"functionResponse": {"name": "f", "id": "c", "response": {"output": "x"}}}
    body: Any = {"contents": [{"role": "user", "parts": [part, {"text": "go on"}]}]}

    call = ADAPTER.read_request(body)

    assert [turn.role for turn in call.turns] == [Role.TOOL, Role.USER]


def test_the_vendors_schema_dialect_is_read_as_json_schema() -> None:
    """Upper-case types and nullable become standard JSON Schema."""
    parameters = {
        "type": "OBJECT",
        "properties": {
            "n": {"type": "INTEGER", "nullable": True},
            "l": {"type": "ARRAY", "items": {"type": "STRING"}, "minItems": "1"},
        },
    }
    declared = {"name": "f", "description": "d", "parameters": parameters}
    body: Any = {"contents": [], "tools": [{"function_declarations": [declared]}]}

    call = ADAPTER.read_request(body)

    assert call.tools[0].schema == {
        "type": "object",
        "properties": {
            "n": {"type": ["integer", "null"]},
            "l": {"type": "array", "items": {"type": "string"}, "minItems": 1},
        },
    }
    tools: Any = ADAPTER.write_request(call)["tools"]
    assert tools[0]["functionDeclarations"] == [declared]


def test_snake_case_fields_are_understood() -> None:
    """The API accepts both spellings, and its documentation uses both."""
    body: Any = {
        "system_instruction": {"parts": [{"text": "s"}]},
        "generation_config": {"max_output_tokens": 5},
        "contents": [
            {"parts": [{"function_call": {"name": "f", "args": {}}, "thought_signature": "S"}]}
        ],
        "tool_config": {"function_calling_config": {"mode": "any"}},
    }

    call = ADAPTER.read_request(body)

    assert call.max_tokens == 5
    assert call.turns[0] == Turn(Role.SYSTEM, (Text("s"),))
    assert call.tool_choice == ToolChoice("required")
    assert len(call.turns[1].calls) == 1


def test_a_changed_choice_wins_over_the_one_that_was_read() -> None:
    """The stored toolConfig does not override a later change of the choice."""
    calling = {"mode": "ANY", "allowedFunctionNames": ["f", "g"]}
    body: Any = {
        "contents": [],
        "tools": [{"functionDeclarations": [{"name": "f"}]}],
        "toolConfig": {"functionCallingConfig": calling},
    }
    call = ADAPTER.read_request(body)

    changed = ModelCall("m", (), call.tools, tool_choice=ToolChoice("auto"), extra=call.extra)

    written_body = ADAPTER.write_request(changed)
    assert written_body["toolConfig"] == {"functionCallingConfig": {"mode": "AUTO"}}


def test_what_the_format_has_no_place_for_is_reported() -> None:
    """No parallel switch, no strict flag, no foreign reasoning, no late system text."""
    call = ask(
        user("go"),
        Turn(Role.SYSTEM, (Text("late"),)),
        Turn(Role.ASSISTANT, (Reasoning("r", ReasoningKind.BLOCK, {}), CALL)),
        results(ToolResult("call_1", "a\nb", blocks=({"type": "text"}, {"type": "text"}))),
        tools=(ToolSpec("f", "", {}, strict=True),),
        parallel=False,
    )

    assert [loss.kind for loss in ADAPTER.losses(call)] == [
        LossKind.PARALLEL,
        LossKind.STRICT,
        LossKind.BLOCK_ORDER,
        LossKind.REASONING,
        LossKind.RESULT_BLOCKS,
    ]


@pytest.mark.parametrize(
    ("body", "at"),
    [
        (1, "$"),
        ({}, "$.contents"),
        ({"contents": [{"role": "cat"}]}, "$.contents[0].role"),
        ({"contents": [{"parts": [3]}]}, "$.contents[0].parts[0]"),
        (
            {"contents": [{"parts": [{"functionCall": {}}]}]},
            "$.contents[0].parts[0].functionCall.name",
        ),
        (
            {"contents": [], "tools": [{"functionDeclarations": [{}]}]},
            "$.tools[0].functionDeclarations[0].name",
        ),
    ],
)
def test_a_broken_request_is_refused_with_its_path(body: Any, at: str) -> None:
    """The error has the path of the invalid field."""
    with pytest.raises(WireError) as caught:
        ADAPTER.read_request(body)

    assert caught.value.at == at


def test_the_key_stands_in_a_header() -> None:
    """Never in the URL, which would be logged."""
    assert ADAPTER.headers(Secret("k")) == {"x-goog-api-key": "k"}


@given(requests())
def test_a_request_survives_the_way_through_the_values(body: dict[str, Any]) -> None:
    """A client's request is written back unchanged, unknown fields included."""
    call = ADAPTER.read_request(body)

    assert ADAPTER.write_request(call) == body
    assert ADAPTER.losses(call) == []
