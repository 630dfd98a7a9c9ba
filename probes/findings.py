from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from probes.messages import JSON


class FindingKind(StrEnum):
    """What was wrong, as a closed set."""

    # The model answered, and this is what it did.
    NO_CALL = "no_call"
    LEAKED_CALL = "leaked_call"
    EXTRA_CALL = "extra_call"
    WRONG_TOOL = "wrong_tool"
    UNKNOWN_TOOL = "unknown_tool"
    INVALID_JSON = "invalid_json"
    DUPLICATE_KEY = "duplicate_key"
    SCHEMA_MISMATCH = "schema_mismatch"
    WRONG_VALUE = "wrong_value"
    TRUNCATED_CALL = "truncated_call"
    REASONING_ONLY = "reasoning_only"
    DEVIATION = "deviation"
    WIRE_ERROR = "wire_error"
    # The endpoint refused the request for what it asked.
    NO_TOOLS = "no_tools"
    SCHEMA_REFUSED = "schema_refused"
    FORCED_CHOICE = "forced_choice"
    PARAM_UNKNOWN = "param_unknown"
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


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was wrong; `path` is a JSON path into what it is about."""

    kind: FindingKind
    message: str
    path: str = ""

    def as_json(self) -> dict[str, JSON]:
        return {"kind": str(self.kind), "message": self.message, "path": self.path}
