from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from probes.messages import JSON


class FindingKind(StrEnum):
    """The closed set of finding kinds."""

    # The model answered, with this fault.
    NO_CALL = "no_call"
    LEAKED_CALL = "leaked_call"
    EXTRA_CALL = "extra_call"
    WRONG_TOOL = "wrong_tool"
    UNKNOWN_TOOL = "unknown_tool"
    INVALID_JSON = "invalid_json"
    NOT_AN_OBJECT = "not_an_object"
    RESIDUAL_MARKUP = "residual_markup"
    DUPLICATE_KEY = "duplicate_key"
    SCHEMA_MISMATCH = "schema_mismatch"
    WRONG_VALUE = "wrong_value"
    TRUNCATED_CALL = "truncated_call"
    REASONING_ONLY = "reasoning_only"
    RESULT_UNUSED = "result_unused"
    NOT_REPAIRED = "not_repaired"
    ID_REUSED = "id_reused"
    STREAM_DIFFERS = "stream_differs"
    NOT_STREAMED = "not_streamed"
    WRONG_ORDER = "wrong_order"
    CHOICE_IGNORED = "choice_ignored"
    DEVIATION = "deviation"
    WIRE_ERROR = "wire_error"
    # The endpoint refused the request because of its content.
    NO_TOOLS = "no_tools"
    SCHEMA_REFUSED = "schema_refused"
    FORCED_CHOICE = "forced_choice"
    PARAM_UNKNOWN = "param_unknown"
    ENDPOINT_MISMATCH = "endpoint_mismatch"
    THINKING_MODE_REFUSED = "thinking_mode_refused"
    ROLE_REFUSED = "role_refused"
    SERVER_PARSE = "server_parse"
    # The history: detected by our own check before a request, or refused by the endpoint.
    CLOSURE_MISSING = "closure_missing"
    CLOSURE_ORPHAN = "closure_orphan"
    CLOSURE_DUPLICATE = "closure_duplicate"
    CLOSURE_ORDER = "closure_order"
    ID_FORMAT = "id_format"
    ARGS_HISTORY = "args_history"
    REPLAY_MISSING = "replay_missing"
    REPLAY_SIGNATURE_MISSING = "replay_signature_missing"
    REPLAY_SIGNATURE_BAD = "replay_signature_bad"
    REPLAY_PREFIX_BOUND = "replay_prefix_bound"
    REPLAY_ITEM = "replay_item"
    # No verdict on the model.
    TARGET_ERROR = "target_error"
    UNREACHABLE = "unreachable"
    TIMED_OUT = "timed_out"
    TOO_LARGE = "too_large"
    AUTH_REJECTED = "auth_rejected"
    NOT_FOUND = "not_found"
    RATE_LIMITED = "rate_limited"
    OVERLOADED = "overloaded"
    REDIRECTED = "redirected"
    NOT_JSON = "not_json"
    BROKEN_OFF = "broken_off"
    PROVIDER_ERROR = "provider_error"
    OUR_FAULT = "our_fault"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was wrong; `path` is a JSON path to it."""

    kind: FindingKind
    message: str
    path: str = ""

    def as_json(self) -> dict[str, JSON]:
        return {"kind": str(self.kind), "message": self.message, "path": self.path}
