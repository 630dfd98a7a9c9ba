from __future__ import annotations

from typing import Any

import pytest

from probes.adapters.base import ErrorBody
from probes.adapters.openai_responses.adapter import OpenAIResponsesAdapter
from probes.errors import WireError
from probes.losses import LossKind
from probes.messages import (
    AUTO,
    Breakage,
    BrokenCall,
    ModelCall,
    Opaque,
    Reasoning,
    ReasoningKind,
    Reply,
    Role,
    Stop,
    Text,
    ToolCall,
    ToolChoice,
    ToolResult,
    ToolSpec,
    Turn,
    Usage,
)
from probes.secret import Secret

RESPONSES = OpenAIResponsesAdapter()
THOUGHT: Any = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gA"}
CALL: Any = {
    "type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "f", "arguments": '{"a":1}',
    "status": "completed",
}  # fmt: skip
ASK = Turn(Role.USER, (Text("Hi"),))


def body(*items: Any, status: str = "completed", **root: Any) -> Any:
    return {"id": "resp_1", "object": "response", "status": status, "output": list(items), **root}


def message(*content: Any, **over: Any) -> Any:
    return {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed",
            "content": list(content), **over}  # fmt: skip


def assistant_message(text: str) -> Any:
    return {"type": "output_text", "text": text, "annotations": []}


def test_a_canonical_reply_is_read_whole() -> None:
    """Items become parts in order; results are paired by call_id, the item id is kept."""
    usage = {"input_tokens": 9, "input_tokens_details": {"cached_tokens": 4}, "output_tokens": 7,
             "output_tokens_details": {"reasoning_tokens": 3}, "total_tokens": 16}  # fmt: skip
    wire = body(THOUGHT, message(assistant_message("Hi")), CALL, model="m", usage=usage)

    item = {"id": "msg_1", "status": "completed"}
    item_fields = {"id": "fc_1", "status": "completed"}
    assert RESPONSES.read_reply(wire) == Reply(
        parts=(
            Reasoning("", ReasoningKind.ITEM, THOUGHT),
            Text("Hi", {"openai_responses": {"$item": item}}),
            ToolCall("call_1", "f", {"a": 1}, "openai_responses", '{"a":1}',
                     extra={"openai_responses": item_fields}),
        ),
        stop=Stop.TOOL_CALLS,
        usage=Usage(9, 7, 3, 4),
        id="resp_1",
        model="m",
        stop_raw="completed",
        raw=wire,
    )  # fmt: skip


def test_a_question_is_written_with_flat_tools_and_items() -> None:
    """The whole body, written out; the system text becomes the instructions."""
    history = (
        Turn(Role.SYSTEM, (Text("Be brief."),)),
        ASK,
        Turn(Role.ASSISTANT, (Text("Well."), ToolCall("c1", "f", {}, "openai", "{}"))),
        Turn(Role.TOOL, (ToolResult("c1", "no", is_error=True),)),
    )
    tool = ToolSpec("f", "Does f.", {"type": "object"}, strict=True)

    assert RESPONSES.write_request(ModelCall("m", history, (tool,), 64, AUTO, parallel=False)) == {
        "model": "m",
        "instructions": "Be brief.",
        "input": [
            {"type": "message", "role": "user", "content": "Hi"},
            {"type": "message", "role": "assistant", "content": "Well."},
            {"type": "function_call", "call_id": "c1", "name": "f", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "c1", "output": "Error: no"},
        ],
        "max_output_tokens": 64,
        "tools": [{"type": "function", "name": "f", "description": "Does f.",
                   "parameters": {"type": "object"}, "strict": True}],
        "tool_choice": "auto",
        "parallel_tool_calls": False,
    }  # fmt: skip


def test_a_string_input_is_a_question_of_the_user() -> None:
    """The short form equals one message."""
    call = RESPONSES.read_request({"model": "m", "input": "Hi"})

    assert call.turns == (ASK,)
    assert call.max_tokens is None


def test_the_items_of_one_model_turn_are_one_turn_and_so_are_its_results() -> None:
    """Message formats refuse text and calls of one answer in two messages."""
    outputs = [{"type": "function_call_output", "call_id": id_, "output": "x"} for id_ in "ab"]
    calls = [{**CALL, "call_id": id_} for id_ in "ab"]
    wire: Any = {
        "model": "m",
        "input": [THOUGHT, message(assistant_message("Hi")), *calls, *outputs],
    }

    turns = RESPONSES.read_request(wire).turns

    assert [(turn.role, len(turn.parts)) for turn in turns] == [
        (Role.ASSISTANT, 4),
        (Role.TOOL, 2),
    ]


def test_a_named_choice_is_written_flat_and_read_again() -> None:
    """Chat Completions wraps the name; this format does not."""
    named = ToolChoice("named", "f")
    tool = ToolSpec("f", "", {"type": "object"})

    wire = RESPONSES.write_request(ModelCall("m", (ASK,), (tool,), tool_choice=named))

    assert wire["tool_choice"] == {"type": "function", "name": "f"}
    assert RESPONSES.read_request(wire).tool_choice == named


def test_z51_reasoning_items_go_back_whole_and_before_their_call() -> None:
    """The API refuses a function_call without its reasoning item."""
    reply = RESPONSES.read_reply(body(THOUGHT, CALL))
    history = (ASK, reply.as_turn(), Turn(Role.TOOL, (ToolResult("call_1", "42"),)))

    items: Any = RESPONSES.write_request(ModelCall("m", history))["input"]

    assert items[1:3] == [THOUGHT, CALL]
    assert RESPONSES.losses(ModelCall("m", history)) == []


def test_z44_results_are_paired_on_call_id_even_if_ids_repeat() -> None:
    """Calls with the same id are all kept, in order, and a deviation is noted."""
    reply = RESPONSES.read_reply(body(CALL, {**CALL, "id": "fc_2", "arguments": "{}"}))

    assert [(call.id, call.raw) for call in reply.calls] == [
        ("call_1", '{"a":1}'),
        ("call_1", "{}"),
    ]
    assert [note.name for note in reply.deviations] == ["duplicate_id"]


def test_the_token_limit_cuts_the_last_call() -> None:
    """The last call is never executable, even if its JSON looks complete."""
    wire = body(CALL, CALL, status="incomplete",
                incomplete_details={"reason": "max_output_tokens"})  # fmt: skip

    reply = RESPONSES.read_reply(wire)

    assert (reply.stop, reply.stop_raw) == (Stop.LENGTH, "max_output_tokens")
    assert len(reply.calls) == 1
    assert [broken.kind for broken in reply.broken] == [Breakage.TRUNCATED_CALL]


def test_an_incomplete_call_is_never_executable() -> None:
    """The item's own status says that it was cut."""
    reply = RESPONSES.read_reply(body({**CALL, "status": "incomplete"}))

    assert [broken.kind for broken in reply.broken] == [Breakage.TRUNCATED_CALL]


@pytest.mark.parametrize(
    ("wire", "stop"),
    [
        (body(message(assistant_message("Hi"))), Stop.END),
        (body(message({"type": "refusal", "refusal": "No."})), Stop.REFUSAL),
        (body(status="failed"), Stop.ERROR),
        (body(status="cancelled"), Stop.ERROR),
        (body(status="in_progress"), Stop.OTHER),
        (body(status="incomplete", incomplete_details={"reason": "content_filter"}), Stop.REFUSAL),
    ],
)
def test_every_status_has_its_stop(wire: Any, stop: Stop) -> None:
    """The format has no finish_reason; the status and the items decide."""
    assert RESPONSES.read_reply(wire).stop is stop


def test_items_we_do_not_know_are_kept_whole() -> None:
    """Calls of server tools are sent back unchanged."""
    search: Any = {"type": "web_search_call", "id": "ws_1", "status": "completed"}

    assert RESPONSES.read_reply(body(search)).parts == (Opaque("openai_responses", search),)


@pytest.mark.parametrize(
    ("wire", "path"),
    [([], "$"), ({}, "$.output"), (body(5), "$.output[0]"), ({"output": [{}] * 1025}, "$.output")],
)
def test_what_breaks_the_format_is_located(wire: Any, path: str) -> None:
    """An unreadable reply is a WireError with the path."""
    with pytest.raises(WireError) as caught:
        RESPONSES.read_reply(wire)

    assert caught.value.at == path


@pytest.mark.parametrize(
    ("wire", "path"),
    [
        ({"input": "x"}, "$.model"),
        ({"model": "m"}, "$.input"),
        ({"model": "m", "input": [{"role": "boss", "content": "x"}]}, "$.input[0].role"),
        ({"model": "m", "input": [{"type": "function_call_output"}]}, "$.input[0].call_id"),
        ({"model": "m", "input": [], "tools": [{"type": "function"}]}, "$.tools[0].name"),
    ],
)
def test_a_request_that_cannot_be_read_is_located(wire: Any, path: str) -> None:
    """The error has the path of the invalid field."""
    with pytest.raises(WireError) as caught:
        RESPONSES.read_request(wire)

    assert caught.value.at == path


def test_a_broken_call_is_left_out_of_an_answer_and_named() -> None:
    """A client must not run a cut call."""
    reply = Reply((BrokenCall("{", "cut", name="f", id="c1"), Text("Hi")), Stop.LENGTH)

    wire: Any = RESPONSES.write_reply(reply)

    assert [item["type"] for item in wire["output"]] == ["message"]
    assert wire["incomplete_details"] == {"reason": "max_output_tokens"}
    assert [loss.kind for loss in RESPONSES.losses(reply)] == [LossKind.BROKEN_CALL]


def test_what_cannot_be_carried_is_named() -> None:
    """One loss per item, with its path."""
    block: Any = {"type": "image", "source": {}}
    result = ToolResult("c1", "x", is_error=True, blocks=(block,), extra={"anthropic": {"a": 1}})
    turns = (
        Turn(Role.ASSISTANT, (Reasoning("Hm.", ReasoningKind.BLOCK, {"signature": "S"}),)),
        Turn(Role.TOOL, (result,)),
        Turn(Role.USER, (Opaque("anthropic", block),)),
    )

    losses = RESPONSES.losses(ModelCall("m", turns))

    assert [(loss.kind, loss.path) for loss in losses] == [
        (LossKind.REASONING, "$.turns[0].parts[0]"),
        (LossKind.ERROR_FLAG, "$.turns[1].parts[0].is_error"),
        (LossKind.RESULT_BLOCKS, "$.turns[1].parts[0].blocks"),
        (LossKind.EXTRA, "$.turns[1].parts[0]"),
        (LossKind.OPAQUE, "$.turns[2].parts[0]"),
    ]


def test_errors_and_keys_are_those_of_openai() -> None:
    """The envelope and the header are shared; an answer with items is no error."""
    assert RESPONSES.read_error({"error": {"message": "no"}}) == ErrorBody("no")
    assert RESPONSES.read_error(body(CALL, error=None)) is None
    assert RESPONSES.headers(Secret("sim-1")) == {"Authorization": "Bearer sim-1"}
    assert RESPONSES.headers(None) == {}
