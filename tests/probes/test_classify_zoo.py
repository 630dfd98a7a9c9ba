"""The refusals of the failure zoo, in the vendors' words: their meaning and the remedy."""

from __future__ import annotations

import pytest

from probes.adapters.base import ErrorBody
from probes.classify import classify_error
from probes.error_table import Action, ErrorClass

Meaning = tuple[ErrorClass, Action, int | None]


def meaning(message: str) -> Meaning | None:
    result = classify_error(400, ErrorBody(message))
    return (result.kind, result.action, result.index) if result else None


@pytest.mark.parametrize(
    ("message", "index"),
    [
        ("Missing `reasoning_content` field in the assistant message at message index 3.", 3),
        ("The `reasoning_content` in the thinking mode must be passed back to the API.", None),
        ("The `content[].thinking` in the thinking mode must be passed back to the API.", None),
        (
            "thinking is enabled but reasoning_content is missing in assistant tool call message "
            "at index 7",
            7,
        ),
    ],
)
def test_z01_z02_z06_z08_reasoning_that_was_not_passed_back(
    message: str, index: int | None
) -> None:
    """Restoring the stored text at the named message helps."""
    expected = (ErrorClass.REPLAY_MISSING, Action.RESTORE_REASONING, index)

    assert meaning(message) == expected


@pytest.mark.parametrize(
    "message",
    [
        "Thinking mode does not support this tool_choice",
        "tool_choice 'specified' is incompatible with thinking enabled",
        'tool_choice type "tool" and "any" are not supported for this model',
        "Thinking may not be enabled when tool_choice forces tool use.",
        "The tool_choice parameter does not support being set to required or object in thinking "
        "mode",
    ],
)
def test_z07_z09_z62_z67_z70_a_forced_choice_that_meets_thinking(message: str) -> None:
    """Only dropping the choice helps."""
    assert meaning(message) == (ErrorClass.FORCED_CHOICE, Action.DROP_TOOL_CHOICE, None)


@pytest.mark.parametrize(
    ("message", "index"),
    [
        (
            "Please ensure that the number of function response parts is equal to the number of "
            "function call parts of the function call turn.",
            None,
        ),
        (
            "messages.6: `tool_use` ids were found without `tool_result` blocks immediately "
            "after: toolu_1.",
            6,
        ),
    ],
)
def test_z10_z52_a_call_without_its_result(message: str, index: int | None) -> None:
    """Error results for open calls help."""
    expected = (ErrorClass.CLOSURE_MISSING, Action.SYNTHESISE_RESULTS, index)

    assert meaning(message) == expected


@pytest.mark.parametrize(
    "message",
    [
        "Please ensure that function call turn comes immediately after a user turn or after a "
        "function response turn.",
        "Unexpected role 'user' after role 'tool'",
    ],
)
def test_z11_z65_turns_in_an_order_that_is_not_taken(message: str) -> None:
    """Trimming at a question or reordering turns helps."""
    assert meaning(message) == (ErrorClass.CLOSURE_ORDER, Action.REORDER, None)


@pytest.mark.parametrize(
    "message",
    [
        "invalid params, tool result's tool id(call_2) not found (2013)",
        "messages.0.content.0: unexpected `tool_use_id` found in `tool_result` blocks: toolu_1.",
    ],
)
def test_z37_z53_a_result_without_its_call(message: str) -> None:
    """Dropping the orphan helps; a missing call must not be invented."""
    result = meaning(message)

    assert result is not None
    assert result[:2] == (ErrorClass.CLOSURE_ORPHAN, Action.DROP_ORPHANS)


@pytest.mark.parametrize(
    "message",
    [
        "Duplicate function_call_output for call_id: call_1",
        "messages.3.content.1: `tool_use` ids must be unique",
    ],
)
def test_z44_z72_two_under_one_id(message: str) -> None:
    """Unique ids on the wire help."""
    result = meaning(message)

    assert result is not None
    assert result[:2] == (ErrorClass.CLOSURE_DUPLICATE, Action.SUFFIX_IDS)


def test_z12_a_call_without_its_signature() -> None:
    """The received signature helps, or the documented sentinel."""
    message = "Function call is missing a thought_signature in functionCall parts."

    assert meaning(message) == (
        ErrorClass.REPLAY_SIGNATURE_MISSING,
        Action.RESTORE_SIGNATURE,
        None,
    )


@pytest.mark.parametrize(
    "message",
    [
        "Invalid thought signature.",
        "Corrupted thought signature.",
        "`thinking` or `redacted_thinking` blocks in the latest assistant message cannot be "
        "modified.",
    ],
)
def test_z13_z54_a_signature_that_fits_no_more(message: str) -> None:
    """All signed blocks of that message are dropped, never only one."""
    assert meaning(message) == (
        ErrorClass.REPLAY_SIGNATURE_BAD,
        Action.DROP_SIGNATURES,
        None,
    )


def test_z69_a_block_of_a_changed_conversation_is_told_from_a_bad_signature() -> None:
    """The message names a bad signature as well; the binding matters."""
    message = (
        "messages.1.content.0: Invalid `signature` in `thinking` block. The block is bound to a "
        "different conversation."
    )

    assert meaning(message) == (ErrorClass.REPLAY_PREFIX_BOUND, Action.STRIP_BLOCKS, 1)


@pytest.mark.parametrize(
    "message",
    [
        "Item 'fc_1' of type 'function_call' was provided without its required 'reasoning' item: "
        "'rs_1'.",
        "Item 'rs_1' of type 'reasoning' was provided without its required following item.",
    ],
)
def test_z51_an_item_without_its_pair(message: str) -> None:
    """Both items are sent, or both ids are removed."""
    assert meaning(message) == (ErrorClass.REPLAY_ITEM, Action.PAIR_ITEMS, None)


@pytest.mark.parametrize(
    ("message", "kind", "action"),
    [
        (
            "invalid params, invalid function arguments json string, tool_call_id: a (2013)",
            ErrorClass.ARGS_HISTORY,
            Action.NORMALISE_ARGUMENTS,
        ),
        (
            "invalid params, function parameters is empty (2013)",
            ErrorClass.SCHEMA_REFUSED,
            Action.SIMPLIFY_SCHEMA,
        ),
        (
            "tools[0].type: unknown variant `namespace`, expected `function`",
            ErrorClass.SCHEMA_REFUSED,
            Action.SIMPLIFY_SCHEMA,
        ),
        (
            "messages[0].role: unknown variant `developer`, expected one of `system`, `user`",
            ErrorClass.ROLE_REFUSED,
            Action.MAP_ROLE,
        ),
        (
            "Tool call id was call_1 but must be a-z, A-Z, 0-9, with a length of 9.",
            ErrorClass.ID_FORMAT,
            Action.MAP_IDS,
        ),
        (
            "Function tools with reasoning_effort are not supported for this model in "
            "/v1/chat/completions.",
            ErrorClass.ENDPOINT_MISMATCH,
            Action.SWITCH_ADAPTER,
        ),
    ],
)
def test_z38_z39_z49_z56_z57_z61_what_a_request_is_refused_for(
    message: str, kind: ErrorClass, action: Action
) -> None:
    """Each has its own remedy, so none may be confused with another."""
    result = meaning(message)

    assert result is not None
    assert result[:2] == (kind, action)
