from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from probes.adapters.base import ErrorBody
from probes.adapters.openai_chat.adapter import OpenAIChatAdapter
from probes.classify import ErrorClass, ErrorMeaning, ErrorPattern, classify_error
from probes.error_table import ACTIONS, ERROR_PATTERNS
from probes.errors import AuthRejected, Overloaded, ProviderError, RateLimited, Refused
from probes.exchange import is_reached
from probes.findings import FindingKind
from probes.http_messages import Chunk, WireResponse
from probes.http_reply import read_http_reply
from probes.messages import JSON, ModelCall
from probes.relayed_errors import error_inside, relayed_error
from probes.suite.base import Question

# The vendors' own words, with the message index if they include one.
SAID: list[tuple[ErrorClass, int | None, str]] = [
    (
        ErrorClass.REPLAY_MISSING,
        None,
        "The `reasoning_content` in the thinking mode must be passed back to the API.",
    ),
    (
        ErrorClass.REPLAY_MISSING,
        3,
        "Missing `reasoning_content` field in the assistant message at message index 3. For more "
        "information, please refer to https://api-docs.deepseek.com/guides/thinking_mode#tool-calls",
    ),
    (
        ErrorClass.REPLAY_MISSING,
        None,
        "The `content[].thinking` in the thinking mode must be passed back to the API.",
    ),
    (
        ErrorClass.REPLAY_MISSING,
        7,
        "thinking is enabled but reasoning_content is missing in assistant tool call message at "
        "index 7",
    ),
    (
        ErrorClass.REPLAY_SIGNATURE_MISSING,
        2,
        "Function call is missing a thought_signature in functionCall parts. This is required for "
        "tools to work correctly, and missing thought_signature may lead to degraded model "
        "performance. Additional data, function call `default_api:f`, position 2.",
    ),
    (
        ErrorClass.REPLAY_SIGNATURE_MISSING,
        None,
        "Function call `f` in the `1.` content block is missing a `thought_signature`.",
    ),
    (
        ErrorClass.REPLAY_PREFIX_BOUND,
        1,
        "messages.1.content.0: Invalid `signature` in `thinking` block. The block is bound to a "
        "different conversation. Remove the block, or set "
        '`thinking.block_binding.prefix_mismatch_behavior` to "drop_block".',
    ),
    (ErrorClass.REPLAY_SIGNATURE_BAD, None, "Invalid thought signature."),
    (ErrorClass.REPLAY_SIGNATURE_BAD, None, "Corrupted thought signature."),
    (
        ErrorClass.REPLAY_SIGNATURE_BAD,
        5,
        "messages.5.content.0: Invalid `signature` in `thinking` block",
    ),
    (
        ErrorClass.REPLAY_SIGNATURE_BAD,
        4,
        "messages.4.content.1: `thinking` or `redacted_thinking` blocks in the latest assistant "
        "message cannot be modified. These blocks must remain as they were in the original "
        "response.",
    ),
    (
        ErrorClass.REPLAY_SIGNATURE_BAD,
        None,
        "Expected `thinking` or `redacted_thinking`, but found `tool_use`",
    ),
    (
        ErrorClass.REPLAY_SIGNATURE_BAD,
        1,
        "messages.1.content.0: If an assistant message contains any thinking blocks, the first "
        "block must be `thinking` or `redacted_thinking`. Found `text`.",
    ),
    (ErrorClass.REPLAY_SIGNATURE_BAD, None, "each thinking block must contain thinking"),
    (
        ErrorClass.REPLAY_SIGNATURE_BAD,
        None,
        "When providing `thinking` or `redacted_thinking` blocks, the blocks must match the "
        "parameters during the original request.",
    ),
    (
        ErrorClass.REPLAY_ITEM,
        None,
        "Item 'fc_1' of type 'function_call' was provided without its required 'reasoning' item: "
        "'rs_1'.",
    ),
    (
        ErrorClass.REPLAY_ITEM,
        None,
        "Item 'rs_1' of type 'reasoning' was provided without its required following item.",
    ),
    (
        ErrorClass.CLOSURE_MISSING,
        6,
        "messages.6: `tool_use` ids were found without `tool_result` blocks immediately after: "
        "toolu_1. Each `tool_use` block must have a corresponding `tool_result` block in the next "
        "message.",
    ),
    (
        ErrorClass.CLOSURE_MISSING,
        None,
        "An assistant message with 'tool_calls' must be followed by tool messages responding to "
        "each 'tool_call_id'. The following tool_call_ids did not have response messages: call_1",
    ),
    (
        ErrorClass.CLOSURE_MISSING,
        None,
        "An assistant message with 'tool_calls' must be followed by tool messages responding to "
        "each 'tool_call_id'. (insufficient tool messages following tool_calls message)",
    ),
    (
        ErrorClass.CLOSURE_MISSING,
        532,
        "<400> InternalError.Algo.InvalidParameter: The following tool_call_ids did not have "
        "response messages: message[532].role",
    ),
    (
        ErrorClass.CLOSURE_MISSING,
        None,
        "Please ensure that the number of function response parts is equal to the number of "
        "function call parts of the function call turn.",
    ),
    (ErrorClass.CLOSURE_MISSING, None, "No tool output found for function call call_1."),
    (
        ErrorClass.CLOSURE_ORPHAN,
        2,
        "messages.2.content.0: unexpected `tool_use_id` found in `tool_result` blocks: toolu_1. "
        "Each `tool_result` block must have a corresponding `tool_use` block in the previous "
        "message.",
    ),
    (
        ErrorClass.CLOSURE_ORPHAN,
        None,
        "Invalid parameter: messages with role 'tool' must be a response to a preceeding message "
        "with 'tool_calls'.",
    ),
    (
        ErrorClass.CLOSURE_ORPHAN,
        None,
        "Messages with role 'tool' must be a response to a preceding message with 'tool_calls'",
    ),
    (
        ErrorClass.CLOSURE_ORPHAN,
        None,
        '<400> InternalError.Algo.InvalidParameter: messages with role "tool" must be a response '
        'to a preceeding message with "tool_calls".',
    ),
    (
        ErrorClass.CLOSURE_ORPHAN,
        None,
        "invalid params, tool result's tool id(call_function_xxx_1) not found (2013)",
    ),
    (
        ErrorClass.CLOSURE_ORPHAN,
        None,
        "No tool call found for function call output with call_id call_1.",
    ),
    (
        ErrorClass.CLOSURE_ORPHAN,
        None,
        "tool message tool_call_id 'X' does not match any tool call in the preceding assistant "
        "messages",
    ),
    (
        ErrorClass.CLOSURE_ORPHAN,
        None,
        "Please ensure that function response turn comes immediately after a function call turn.",
    ),
    (
        ErrorClass.CLOSURE_ORDER,
        None,
        "Please ensure that function call turn comes immediately after a user turn or after a "
        "function response turn.",
    ),
    (
        ErrorClass.CLOSURE_ORDER,
        None,
        "invalid params, tool call result does not follow tool call (2013)",
    ),
    (ErrorClass.CLOSURE_ORDER, None, "Unexpected role 'user' after role 'tool'"),
    (ErrorClass.CLOSURE_ORDER, None, "Unexpected role 'tool' after role 'user'"),
    (
        ErrorClass.CLOSURE_ORDER,
        None,
        "Expected last role User or Tool (or Assistant with prefix True) for serving but got "
        "assistant",
    ),
    (
        ErrorClass.CLOSURE_DUPLICATE,
        None,
        "Duplicate function_call_output for call_id call_1",
    ),
    (
        ErrorClass.CLOSURE_DUPLICATE,
        None,
        "each tool_use must have a single result. Found multiple `tool_result` blocks with id: X",
    ),
    (ErrorClass.CLOSURE_DUPLICATE, 1, "messages.1.content.1: `tool_use` ids must be unique"),
    (
        ErrorClass.ID_FORMAT,
        None,
        "Tool call id was call_abc but must be a-z, A-Z, 0-9, with a length of 9.",
    ),
    (
        ErrorClass.ID_FORMAT,
        4,
        "Invalid 'input[4].id': 'msg_1'. Expected an ID that begins with 'fc'.",
    ),
    (
        ErrorClass.ID_FORMAT,
        1,
        "messages.1.content.1.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'",
    ),
    (
        ErrorClass.ENDPOINT_MISMATCH,
        None,
        "Function tools with reasoning_effort are not supported for gpt-5.6-terra in "
        "/v1/chat/completions. To use function tools, use /v1/responses or set reasoning_effort "
        "to 'none'.",
    ),
    (
        ErrorClass.THINKING_MODE_REFUSED,
        None,
        '"thinking.type.disabled" is not supported for this model. Use "thinking.type.adaptive" '
        'and "output_config.effort" to control thinking behavior.',
    ),
    (
        ErrorClass.THINKING_MODE_REFUSED,
        None,
        '"thinking.type.enabled" is not supported for this model.',
    ),
    (
        ErrorClass.THINKING_MODE_REFUSED,
        None,
        "the thinking field in the request (expected type object) is illegal",
    ),
    (ErrorClass.FORCED_CHOICE, None, "Thinking mode does not support this tool_choice"),
    (ErrorClass.FORCED_CHOICE, None, "Tool choice must be auto"),
    (
        ErrorClass.FORCED_CHOICE,
        None,
        "tool_choice 'required' is incompatible with thinking enabled",
    ),
    (
        ErrorClass.FORCED_CHOICE,
        None,
        "Thinking may not be enabled when tool_choice forces tool use.",
    ),
    (
        ErrorClass.FORCED_CHOICE,
        None,
        'tool_choice: type "tool" and "any" are not supported for this model.',
    ),
    (
        ErrorClass.FORCED_CHOICE,
        None,
        "<400> InternalError.Algo.InvalidParameter: The tool_choice parameter does not support "
        "being set to required or object in thinking mode",
    ),
    (
        ErrorClass.FORCED_CHOICE,
        None,
        "tool_choice forces tool use is not compatible with this model",
    ),
    (
        ErrorClass.ARGS_HISTORY,
        None,
        "invalid params, invalid function arguments json string, tool_call_id: X (2013)",
    ),
    (ErrorClass.ARGS_HISTORY, None, "Invalid tool call arguments passed: {"),
    (ErrorClass.SCHEMA_REFUSED, None, "invalid params, function parameters is empty (2013)"),
    (ErrorClass.SCHEMA_REFUSED, None, "Invalid schema for function 'f': None"),
    (ErrorClass.SCHEMA_REFUSED, None, "unknown variant 'namespace', expected 'function'"),
    (ErrorClass.SCHEMA_REFUSED, None, "unknown variant `custom`, expected `function`"),
    (
        ErrorClass.ROLE_REFUSED,
        1,
        "Failed to deserialize the JSON body into the target type: messages[1].role: unknown "
        "variant `developer`, expected one of `system`, `user`, `assistant`, `tool`, "
        "`latest_reminder` at line 1 column 99",
    ),
    (ErrorClass.ROLE_REFUSED, None, "Unexpected role: developer"),
    (
        ErrorClass.NO_TOOLS,
        None,
        "registry.ollama.ai/library/llama:1b does not support tools",
    ),
    (
        ErrorClass.NO_TOOLS,
        None,
        '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set',
    ),
    (ErrorClass.NO_TOOLS, None, "No endpoints found that support tool use"),
    (ErrorClass.SERVER_PARSE, None, "error parsing tool call: raw='{\"a\": 1}]', err=invalid"),
    (ErrorClass.SERVER_PARSE, None, "failed to parse JSON: unexpected end of JSON input"),
    (ErrorClass.SERVER_PARSE, None, "Failed to parse tool call"),
    (ErrorClass.PARAM_UNKNOWN, None, "Unrecognized request argument supplied: x"),
    (ErrorClass.PARAM_UNKNOWN, None, "Unknown parameter: 'x'."),
    (
        ErrorClass.PARAM_UNKNOWN,
        None,
        "thinking.adaptive.block_binding: Extra inputs are not permitted",
    ),
    (ErrorClass.TRANSIENT, None, "overloaded_error"),
    (ErrorClass.TRANSIENT, None, "Model is loading"),
]


def kind_of(status: int, error: ErrorBody) -> ErrorClass | None:
    meaning = classify_error(status, error)
    return meaning.kind if meaning else None


@pytest.mark.parametrize(("kind", "index", "message"), SAID)
def test_the_vendors_own_words_have_their_class(
    kind: ErrorClass, index: int | None, message: str
) -> None:
    """Every row of the table matches the messages of real vendors."""
    meaning = classify_error(400, ErrorBody(message))

    assert meaning is not None
    assert (meaning.kind, meaning.index) == (kind, index)
    assert meaning.action is ACTIONS[kind]
    assert meaning.matched


def relayed(message: str) -> list[str]:
    """The same error in the wording of relays."""
    body = json.dumps({"error": {"message": message, "type": "invalid_request_error"}})
    return [
        message.upper(),
        f"Error from provider (DeepSeek): {message}",
        f"[deepseek/deepseek-v4-pro] [400]: {body}",
        f"[deepseek/deepseek-v4-pro] [400]: {message}",
        f"litellm.BadRequestError: DeepseekException - {body}. Received Model Group=x",
        f"OpenAIException - {message}",
        json.dumps({"message": body}),
        json.dumps({"detail": json.dumps({"error": body})}),
        json.dumps({"base_resp": {"status_code": 2013, "status_msg": message}}),
        "Provider returned error: " + json.dumps({"error": {"message": body}}),
        f"Error code: 400 - {{'error': {{'message': {message!r}}}}}",
    ]


@pytest.mark.parametrize(("kind", "index", "message"), SAID)
def test_a_relay_around_the_error_changes_nothing(
    kind: ErrorClass, index: int | None, message: str
) -> None:
    """Prefix, brackets, exception name and JSON inside a string are unwrapped."""
    for wrapped in relayed(message):
        meaning = classify_error(400, ErrorBody(wrapped))

        assert meaning is not None, wrapped
        assert (meaning.kind, meaning.index) == (kind, index), wrapped


@pytest.mark.parametrize(
    "message",
    [
        "",
        "Something else.",
        "expected function, unknown variant",
        "The tool must be passed back to the shelf, with reasoning.",
        "Missing field in the assistant message at message index 3.",
        "must be passed back: reasoning_content",
        "The signature is missing.",
        "unexpected tool_use_id",
        "a response to a preceding message",
        "The tool id was not found.",
        "function parameters are fine",
        "unknown variant `x`, expected one of `a`, `function`",
        "This model does not support toolboxes.",
        "An id must be unique to you.",
        "Found a single result.",
        "The role is unexpected.",
        "Thinking is not supported.",
        "Invalid schema.",
        "failed to parse the date",
        "The model was loading.",
        "a length of 9",
    ],
)
def test_near_misses_have_no_class(message: str) -> None:
    """Part of a pattern is not a match."""
    assert classify_error(400, ErrorBody(message)) is None


@pytest.mark.parametrize(
    ("status", "message", "expected"),
    [
        (404, "No endpoints found that support tool use.", ErrorClass.NO_TOOLS),
        (429, "slow down", ErrorClass.TRANSIENT),
        (502, "does not support tools", ErrorClass.TRANSIENT),
        (500, "must be followed by tool messages", ErrorClass.TRANSIENT),
        (500, "error parsing tool call: raw='{', err=x", ErrorClass.SERVER_PARSE),
        (500, "[m] [400]: Tool choice must be auto", ErrorClass.FORCED_CHOICE),
        (400, "[m] [503]: upstream is gone", ErrorClass.TRANSIENT),
    ],
)
def test_the_status_of_the_vendor_decides_what_is_transient(
    status: int, message: str, expected: ErrorClass
) -> None:
    """A 5xx is transient, unless it is a relay's wrapping or Ollama's own parser error."""
    assert kind_of(status, ErrorBody(message)) is expected


def test_an_error_code_inside_a_200_counts_as_its_status() -> None:
    """Relays report an upstream 429 in a body that came with 200."""
    assert kind_of(200, ErrorBody("slow down", "429")) is ErrorClass.TRANSIENT
    assert kind_of(400, ErrorBody("slow down", "429")) is None


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("1210", ErrorClass.PARAM_UNKNOWN),
        ("3230", ErrorClass.CLOSURE_ORDER),
        ("3280", ErrorClass.ID_FORMAT),
    ],
)
def test_a_code_alone_is_enough(code: str, kind: ErrorClass) -> None:
    """Some vendors vary the message and keep the code."""
    assert kind_of(400, ErrorBody("参数有误", code)) is kind


def test_what_a_model_wrote_is_not_taken_for_a_vendors_error() -> None:
    """Ollama quotes the call that it could not read, and a call may contain anything."""
    message = 'error parsing tool call: raw=\'{"message": "model is loading"}\', err=x'

    assert kind_of(500, ErrorBody(message)) is ErrorClass.SERVER_PARSE


def test_the_rows_of_a_dialect_are_asked_first() -> None:
    """A vendor may use the same words for something else."""
    row = ErrorPattern(ErrorClass.NO_TOOLS, (("tool choice must be auto",),))

    meaning = classify_error(400, ErrorBody("Tool choice must be auto"), (row,))

    assert meaning is not None
    assert meaning.kind is ErrorClass.NO_TOOLS


def test_every_class_has_a_row_an_action_and_a_finding() -> None:
    """A class that cannot become a finding would crash where it is used."""
    assert {row.kind for row in ERROR_PATTERNS} == set(ErrorClass) == set(ACTIONS)
    for kind in set(ErrorClass) - {ErrorClass.TRANSIENT}:
        assert FindingKind(kind)


@pytest.mark.parametrize("raw_as_text", [True, False])
def test_the_vendors_error_is_found_in_a_relays_metadata(raw_as_text: bool) -> None:
    """OpenRouter only says that its provider failed; the reason is in metadata.raw."""
    raw: JSON = {"error": {"message": "Tool choice must be auto", "code": "1210"}}
    metadata: JSON = {"raw": json.dumps(raw) if raw_as_text else raw, "provider_name": "Z.AI"}
    body: JSON = {
        "error": {"message": "Provider returned error", "code": 400, "metadata": metadata}
    }

    error = relayed_error(body)

    assert error is not None
    assert kind_of(400, error) is ErrorClass.FORCED_CHOICE


QUESTION = Question(ModelCall("m", ()))


def answer(status: int, body: JSON) -> WireResponse:
    return WireResponse(status, {}, (Chunk(0, json.dumps(body).encode()),))


def test_an_error_in_base_resp_of_a_200_is_an_error() -> None:
    """MiniMax answers 200 and means 400."""
    resp: JSON = {"status_code": 2013, "status_msg": "invalid params, function parameters is empty"}

    with pytest.raises(Refused) as caught:
        read_http_reply(OpenAIChatAdapter(), answer(200, {"choices": None, "base_resp": resp}))

    assert caught.value.kind is FindingKind.SCHEMA_REFUSED
    assert error_inside({"base_resp": {"status_code": 0, "status_msg": "success"}}) is None


@pytest.mark.parametrize(
    ("code", "error"),
    [
        (1000, Overloaded),
        (1001, Overloaded),
        (1002, RateLimited),
        (1004, AuthRejected),
        (1013, Overloaded),
        (2049, AuthRejected),
    ],
)
def test_an_outage_in_base_resp_of_a_200_is_no_refusal_of_the_request(
    code: int, error: type[ProviderError]
) -> None:
    """The request was not taken, so it must not count as available."""
    body: JSON = {"choices": None, "base_resp": {"status_code": code, "status_msg": "no"}}

    with pytest.raises(error) as caught:
        read_http_reply(OpenAIChatAdapter(), answer(200, body))

    assert not is_reached(caught.value, QUESTION)
    assert caught.value.status == 200


def test_a_relayed_refusal_reaches_the_finding() -> None:
    """The kind and the message come from the vendor's error, not from the relay's."""
    metadata: JSON = {"raw": '{"error": {"message": "Tool choice must be auto"}}'}
    error: JSON = {"message": "Provider returned error", "code": 400, "metadata": metadata}

    with pytest.raises(Refused, match="Tool choice must be auto") as caught:
        read_http_reply(OpenAIChatAdapter(), answer(400, {"error": error}))

    assert caught.value.kind is FindingKind.FORCED_CHOICE


def test_a_server_that_cannot_read_its_own_model_is_not_merely_overloaded() -> None:
    """Z45 and Z46: this 500 is about parsing; any other 500 is transient."""
    with pytest.raises(Refused) as caught:
        read_http_reply(
            OpenAIChatAdapter(), answer(500, {"error": "error parsing tool call: raw='{', err=x"})
        )
    with pytest.raises(Overloaded):
        read_http_reply(OpenAIChatAdapter(), answer(500, {"error": "out of memory"}))

    assert caught.value.kind is FindingKind.SERVER_PARSE


texts = st.text() | st.text(alphabet='[]{}":\\, 4e()-', max_size=80)


@given(st.integers(100, 599), texts, texts)
def test_no_text_breaks_the_classifier(status: int, message: str, code: str) -> None:
    """Any text of an endpoint is data."""
    meaning = classify_error(status, ErrorBody(message, code))

    assert meaning is None or isinstance(meaning, ErrorMeaning)


@pytest.mark.parametrize("piece", ["{", '{"error":', "[400]:", "Exception - ", "messages.", "\\"])
def test_long_hostile_texts_are_bounded(piece: str) -> None:
    """A megabyte of markers is cut before it is scanned."""
    assert classify_error(400, ErrorBody(piece * (1_000_000 // len(piece)))) is None


def test_z66_a_model_without_a_tool_template_is_told_apart() -> None:
    """Ollama refuses tools for a model file whose template has none."""
    message = "registry.ollama.ai/library/custom:latest does not support tools"

    classified = classify_error(400, ErrorBody(message))

    assert classified is not None
    assert classified.kind is ErrorClass.NO_TOOLS


def test_z46_a_parser_that_expects_another_format_is_told_from_an_outage() -> None:
    """Ollama's 500 about an unexpected end of JSON means that its parser does not fit the model."""
    message = "failed to parse JSON: unexpected end of JSON input"

    classified = classify_error(500, ErrorBody(message))
    outage = classify_error(500, ErrorBody("internal server error"))

    assert classified is not None
    assert outage is not None
    assert (classified.kind, outage.kind) == (ErrorClass.SERVER_PARSE, ErrorClass.TRANSIENT)


@pytest.mark.parametrize(
    ("message", "kind"),
    [
        ("tool_choice only supports auto", "forced_choice"),
        ("Invalid value for tool_choice: must be 'auto'", "forced_choice"),
        ("Only 'auto' is supported for tool_choice", "forced_choice"),
        ("This deployment only supports tool_choice=auto", "forced_choice"),
        ("m does not support function calling", "no_tools"),
        ("Tools are not supported by this deployment", "no_tools"),
        ("The model `m` does not exist", "not_found"),
        ("tool_choice 'required' is not supported", "forced_choice"),
        ("Unsupported value for tool_choice: required", "forced_choice"),
        ('Only tool_choice "auto" or "none" is allowed', "forced_choice"),
        ("The parameter tool_choice must be one of auto, none", "forced_choice"),
        ("Forced function calling is not supported for this model", "forced_choice"),
        ("This model does not support forced tool use", "forced_choice"),
        ("tool_choice=required is not available when reasoning is enabled", "forced_choice"),
        ("Invalid tool_choice", "forced_choice"),
        ("Parallel tool calling is not supported", "param_unknown"),
        ("parallel_tool_calls is not supported", "param_unknown"),
        ("Function calling is not enabled for this model", "no_tools"),
        ("tools is not supported in this model", "no_tools"),
        ("This model doesn't support tool use", "no_tools"),
        ("Tool calling unsupported", "no_tools"),
        ("reasoning_content is required for assistant messages with tool_calls", "replay_missing"),
        ("An assistant message must include reasoning_content", "replay_missing"),
        ("Tool call call_1 has no result", "closure_missing"),
        ("Each tool call must be followed by a tool result", "closure_missing"),
        ("Missing tool response for call_1", "closure_missing"),
        ("Tool message without preceding tool call", "closure_orphan"),
        ("unknown tool_call_id call_9", "closure_orphan"),
        ("duplicate tool_call_id call_9", "closure_duplicate"),
        ("Invalid tool_call_id format", "id_format"),
        ("Unknown field: foo", "param_unknown"),
        ("got an unexpected keyword argument 'foo'", "param_unknown"),
        ("property 'foo' is unsupported", "param_unknown"),
        ("Strict schemas are not supported", "schema_refused"),
        ("Invalid tool schema: anyOf has no type", "schema_refused"),
        ("role 'developer' is not supported", "role_refused"),
        ("Invalid role: developer", "role_refused"),
        ("Invalid value: 'tool'. Supported values are: 'system', 'user'.", "role_refused"),
        ("unknown variant `tool`, expected one of `system`, `user`", "role_refused"),
        ("messages.2.content.0: Input tag 'tool_result' found does not match", "role_refused"),
        ("Only user and assistant roles are supported!", "role_refused"),
    ],
)
def test_words_of_a_vendors_own_are_classified(message: str, kind: str) -> None:
    """Compatible servers say the same in other words."""
    meaning = classify_error(400, ErrorBody(message))

    assert meaning is not None
    assert str(meaning.kind) == kind


@pytest.mark.parametrize(
    "message",
    [
        "This model does not support image input.",
        "temperature: value 3 is not supported",
        "The request has 200 tools; at most 128 are allowed.",
        "This model's maximum context length is 8192 tokens.",
        "Streaming is not available in your region.",
        "Invalid value: 'high' for reasoning_effort",
    ],
)
def test_other_refusals_are_not_taken_for_one_about_tools(message: str) -> None:
    """An endpoint is not blamed for what a refusal does not say."""
    assert classify_error(400, ErrorBody(message)) is None


@pytest.mark.parametrize(
    ("status", "kind"), [(400, "role_refused"), (500, "role_refused"), (503, "transient")]
)
def test_a_role_that_a_template_does_not_know_is_refused_by_a_500_too(
    status: int, kind: str
) -> None:
    """llama.cpp reports the error of a chat template as its own."""
    template = "Conversation roles must alternate user/assistant/user/assistant/..."
    meaning = classify_error(status, ErrorBody(template))

    assert meaning is not None
    assert str(meaning.kind) == kind
