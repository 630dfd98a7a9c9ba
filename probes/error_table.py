"""Error answers of all vendors: a class, its patterns, and the action to take.

Patterns are in lower case and without quotes or backslashes, because relays quote a vendor's text
in their own way; `probes/classify.py` normalises a message in the same way first.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class ErrorClass(StrEnum):
    """The meaning of an error answer; every value but the last is also a `FindingKind`."""

    REPLAY_MISSING = "replay_missing"
    REPLAY_SIGNATURE_MISSING = "replay_signature_missing"
    REPLAY_PREFIX_BOUND = "replay_prefix_bound"
    REPLAY_SIGNATURE_BAD = "replay_signature_bad"
    REPLAY_ITEM = "replay_item"
    CLOSURE_MISSING = "closure_missing"
    CLOSURE_ORPHAN = "closure_orphan"
    CLOSURE_ORDER = "closure_order"
    CLOSURE_DUPLICATE = "closure_duplicate"
    ID_FORMAT = "id_format"
    ENDPOINT_MISMATCH = "endpoint_mismatch"
    THINKING_MODE_REFUSED = "thinking_mode_refused"
    FORCED_CHOICE = "forced_choice"
    ARGS_HISTORY = "args_history"
    SCHEMA_REFUSED = "schema_refused"
    ROLE_REFUSED = "role_refused"
    NO_TOOLS = "no_tools"
    SERVER_PARSE = "server_parse"
    PARAM_UNKNOWN = "param_unknown"
    NOT_FOUND = "not_found"
    TRANSIENT = "transient"


class Action(StrEnum):
    """The remedy for a class of errors, tried once before giving up."""

    RESTORE_REASONING = "restore_reasoning"  # the stored text; else thinking off; else a filler
    RESTORE_SIGNATURE = "restore_signature"  # else the documented sentinel
    STRIP_BLOCKS = "strip_blocks"  # or ask for drop_block; and stop editing system and tools
    DROP_SIGNATURES = "drop_signatures"  # whole blocks of that message, never half of one
    PAIR_ITEMS = "pair_items"  # send both items, or strip both ids
    SYNTHESISE_RESULTS = "synthesise_results"
    DROP_ORPHANS = "drop_orphans"
    REORDER = "reorder"  # trim at a user boundary, results right after their calls
    SUFFIX_IDS = "suffix_ids"
    MAP_IDS = "map_ids"
    SWITCH_ADAPTER = "switch_adapter"  # the Responses API, or effort none
    DROP_THINKING_FIELD = "drop_thinking_field"  # or the adaptive form
    DROP_TOOL_CHOICE = "drop_tool_choice"
    NORMALISE_ARGUMENTS = "normalise_arguments"
    SIMPLIFY_SCHEMA = "simplify_schema"  # an empty object schema, fewer keywords, functions only
    MAP_ROLE = "map_role"
    TEXT_TOOLS = "text_tools"  # calls as JSON text, or none at all
    PARSE_RAW = "parse_raw"  # the call is in the error text; retry unstreamed
    DROP_PARAMETER = "drop_parameter"
    CORRECT_MODEL = "correct_model"  # by a person
    RETRY_LATER = "retry_later"


@dataclass(frozen=True, slots=True)
class ErrorPattern:
    """A class and its patterns: pieces of text in this order in the message, or a code."""

    kind: ErrorClass
    texts: tuple[tuple[str, ...], ...]
    codes: tuple[str, ...] = ()


# The first pattern that matches decides, so narrower patterns come before wider ones.
ERROR_PATTERNS = (
    ErrorPattern(
        ErrorClass.REPLAY_MISSING,
        (
            ("reasoning_content", "must be passed back"),
            ("missing reasoning_content field", "index"),
            ("content[].thinking", "must be passed back"),
            ("reasoning_content is missing in assistant tool call message",),
        ),
    ),
    ErrorPattern(ErrorClass.REPLAY_SIGNATURE_MISSING, (("missing a thought_signature",),)),
    ErrorPattern(ErrorClass.REPLAY_PREFIX_BOUND, (("bound to a different conversation",),)),
    ErrorPattern(
        ErrorClass.REPLAY_SIGNATURE_BAD,
        (
            ("invalid thought signature",),
            ("corrupted thought signature",),
            ("invalid signature in thinking",),
            ("blocks in the latest assistant message cannot be modified",),
            ("expected thinking or redacted_thinking, but found",),
            ("first block must be thinking or redacted_thinking",),
            ("each thinking block must contain thinking",),
            ("blocks must match the parameters during the original request",),
        ),
    ),
    ErrorPattern(
        ErrorClass.REPLAY_ITEM,
        (
            ("without its required reasoning item",),
            ("without its required following item",),
        ),
    ),
    ErrorPattern(
        ErrorClass.CLOSURE_MISSING,
        (
            ("tool_use ids were found without",),
            ("must be followed by tool messages",),
            ("tool_call_ids did not have response messages",),
            ("number of function response parts is equal",),
            ("no tool output found for function call",),
        ),
    ),
    ErrorPattern(
        ErrorClass.CLOSURE_ORPHAN,
        (
            ("unexpected tool_use_id found",),
            ("must be a response to a preceding message",),
            ("must be a response to a preceeding message",),
            ("tool results tool id", "not found"),
            ("no tool call found for function call output",),
            ("does not match any tool call",),
            ("function response turn comes immediately after",),
            ("tool_call_id of", "not found in tool_calls of previous message"),
        ),
    ),
    ErrorPattern(
        ErrorClass.CLOSURE_ORDER,
        (
            ("function call turn comes immediately after",),
            ("tool call result does not follow tool call",),
            ("unexpected role", "after role"),
            ("expected last role user or tool",),
        ),
        codes=("3230", "invalid_request_message_order"),
    ),
    ErrorPattern(
        ErrorClass.CLOSURE_DUPLICATE,
        (
            ("duplicate function_call_output",),
            ("must have a single result",),
            ("ids must be unique",),
        ),
    ),
    ErrorPattern(
        ErrorClass.ID_FORMAT,
        (
            ("must be a-z, a-z, 0-9, with a length of 9",),
            ("expected an id that begins with fc",),
            ("string should match pattern ^[a-za-z0-9_-]",),
        ),
        codes=("3280",),
    ),
    ErrorPattern(
        ErrorClass.ENDPOINT_MISMATCH,
        (("function tools with reasoning_effort are not supported",),),
    ),
    ErrorPattern(
        ErrorClass.THINKING_MODE_REFUSED,
        (
            ("thinking.type.disabled is not supported",),
            ("thinking.type.enabled is not supported",),
            ("thinking field in the request", "is illegal"),
        ),
    ),
    ErrorPattern(
        ErrorClass.FORCED_CHOICE,
        (
            ("does not support this tool_choice",),
            ("tool choice must be auto",),
            ("tool_choice", "must be auto"),
            ("tool_choice", "only support"),
            ("only", "auto", "supported", "tool_choice"),
            ("only supports tool_choice",),
            ("incompatible with thinking enabled",),
            ("thinking may not be enabled when tool_choice forces",),
            ("type tool and any are not supported",),
            ("does not support being set to required or object in thinking mode",),
            ("tool_choice forces tool use is not compatible",),
            ("forced function call", "not supported"),
            ("forced tool", "not supported"),
        ),
    ),
    ErrorPattern(
        ErrorClass.ARGS_HISTORY,
        (
            ("invalid function arguments json string",),
            ("invalid tool call arguments passed",),
        ),
    ),
    ErrorPattern(
        ErrorClass.ROLE_REFUSED,
        (
            ("unknown variant developer",),
            ("unknown variant tool,", "expected"),
            ("invalid value: tool.", "supported values are"),
            ("input tag tool_result", "does not match"),
            ("unexpected role",),
            # As chat templates say it.
            ("conversation roles must alternate",),
            ("only user and assistant roles are supported",),
        ),
    ),
    ErrorPattern(
        ErrorClass.SCHEMA_REFUSED,
        (
            ("function parameters is empty",),
            ("invalid schema for function",),
            ("unknown variant", "expected function"),
        ),
    ),
    # A switch for tools that is refused is no refusal of tools.
    ErrorPattern(
        ErrorClass.PARAM_UNKNOWN,
        (
            ("parallel tool", "not supported"),
            ("parallel function", "not supported"),
            ("parallel_tool_calls", "not supported"),
            ("does not support parallel",),
        ),
    ),
    ErrorPattern(
        ErrorClass.NO_TOOLS,
        (
            ("does not support tools",),
            ("does not support function calling",),
            ("does not support tool calling",),
            ("does not support tool use",),
            ("function calling is not supported",),
            ("tool calling is not supported",),
            ("tool use is not supported",),
            ("tools are not supported",),
            ("tool choice requires --enable-auto-tool-choice",),
            ("no endpoints found that support tool use",),
        ),
    ),
    ErrorPattern(
        ErrorClass.SERVER_PARSE,
        (
            ("error parsing tool call: raw=",),
            ("failed to parse json: unexpected end",),
            ("failed to parse tool call",),
        ),
    ),
    ErrorPattern(
        ErrorClass.PARAM_UNKNOWN,
        (
            ("unrecognized request argument",),
            ("unknown parameter",),
            ("extra inputs are not permitted",),
        ),
        codes=("1210", "unknown_parameter"),
    ),
    # Compatible servers say the same in words of their own; only what no pattern above matches
    # comes to these wider ones.
    ErrorPattern(
        ErrorClass.FORCED_CHOICE,
        (
            ("tool_choice", "not supported"),
            ("tool_choice", "unsupported"),
            ("tool_choice", "not available"),
            ("tool_choice", "not allowed"),
            ("tool_choice", "must be one of"),
            ("unsupported", "tool_choice"),
            ("invalid", "tool_choice"),
            ("only tool_choice",),
            ("does not support forc",),
            ("doesnt support forc",),
        ),
    ),
    ErrorPattern(
        ErrorClass.REPLAY_MISSING,
        (
            ("reasoning_content is required",),
            ("must include reasoning_content",),
            ("missing reasoning_content",),
            ("reasoning must be included",),
        ),
    ),
    ErrorPattern(
        ErrorClass.CLOSURE_MISSING,
        (
            ("tool call", "has no result"),
            ("must be followed by a tool result",),
            ("must be followed by a tool message",),
            ("missing tool response",),
            ("missing tool result",),
        ),
    ),
    ErrorPattern(
        ErrorClass.CLOSURE_DUPLICATE,
        (
            ("duplicate tool_call_id",),
            ("duplicate tool call id",),
            ("duplicate tool result",),
        ),
    ),
    ErrorPattern(
        ErrorClass.ID_FORMAT,
        (
            ("invalid tool_call_id format",),
            ("invalid tool call id",),
        ),
    ),
    ErrorPattern(
        ErrorClass.CLOSURE_ORPHAN,
        (
            ("tool message without",),
            ("tool result without",),
            ("unknown tool_call_id",),
            ("no matching tool call",),
            ("no corresponding tool call",),
        ),
    ),
    ErrorPattern(
        ErrorClass.ROLE_REFUSED,
        (
            ("role developer", "not supported"),
            ("unsupported role",),
            ("invalid role",),
            ("unknown role",),
        ),
    ),
    ErrorPattern(
        ErrorClass.SCHEMA_REFUSED,
        (
            ("strict schema", "not supported"),
            ("strict mode", "not supported"),
            ("invalid tool schema",),
            ("invalid json schema",),
        ),
    ),
    ErrorPattern(
        ErrorClass.NO_TOOLS,
        (
            ("doesnt support tool",),
            ("doesnt support function call",),
            ("tools is not supported",),
            ("function calling is not enabled",),
            ("tool calling is not enabled",),
            ("tool use is not enabled",),
            ("tool calling unsupported",),
            ("function calling unsupported",),
            ("does not have tool capabilit",),
        ),
    ),
    ErrorPattern(
        ErrorClass.PARAM_UNKNOWN,
        (
            ("unknown field",),
            ("unrecognized field",),
            ("unexpected field",),
            ("unexpected keyword argument",),
            ("property", "is unsupported"),
        ),
    ),
    ErrorPattern(
        ErrorClass.NOT_FOUND,
        (
            ("model", "does not exist"),
            ("is not a valid model",),
            ("invalid model name",),
            ("model not found",),
            ("model", "was not found"),
            ("unknown model",),
            ("model_not_found",),
            ("模型不存在",),
        ),
        codes=("model_not_found", "1211"),
    ),
    ErrorPattern(
        ErrorClass.TRANSIENT,
        (("overloaded_error",), ("model is loading",)),
        codes=("overloaded_error",),
    ),
)

ACTIONS = {
    ErrorClass.REPLAY_MISSING: Action.RESTORE_REASONING,
    ErrorClass.REPLAY_SIGNATURE_MISSING: Action.RESTORE_SIGNATURE,
    ErrorClass.REPLAY_PREFIX_BOUND: Action.STRIP_BLOCKS,
    ErrorClass.REPLAY_SIGNATURE_BAD: Action.DROP_SIGNATURES,
    ErrorClass.REPLAY_ITEM: Action.PAIR_ITEMS,
    ErrorClass.CLOSURE_MISSING: Action.SYNTHESISE_RESULTS,
    ErrorClass.CLOSURE_ORPHAN: Action.DROP_ORPHANS,
    ErrorClass.CLOSURE_ORDER: Action.REORDER,
    ErrorClass.CLOSURE_DUPLICATE: Action.SUFFIX_IDS,
    ErrorClass.ID_FORMAT: Action.MAP_IDS,
    ErrorClass.ENDPOINT_MISMATCH: Action.SWITCH_ADAPTER,
    ErrorClass.THINKING_MODE_REFUSED: Action.DROP_THINKING_FIELD,
    ErrorClass.FORCED_CHOICE: Action.DROP_TOOL_CHOICE,
    ErrorClass.ARGS_HISTORY: Action.NORMALISE_ARGUMENTS,
    ErrorClass.SCHEMA_REFUSED: Action.SIMPLIFY_SCHEMA,
    ErrorClass.ROLE_REFUSED: Action.MAP_ROLE,
    ErrorClass.NO_TOOLS: Action.TEXT_TOOLS,
    ErrorClass.SERVER_PARSE: Action.PARSE_RAW,
    ErrorClass.PARAM_UNKNOWN: Action.DROP_PARAMETER,
    ErrorClass.NOT_FOUND: Action.CORRECT_MODEL,
    ErrorClass.TRANSIENT: Action.RETRY_LATER,
}
