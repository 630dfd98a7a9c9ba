"""Where signatures stand in the values, and how a part is without one."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace

from probes.messages import JSON, Extra, Part, Reasoning, Text, ToolCall

FORMAT = "gemini"
FIELD = "thoughtSignature"
# Our own note beside a call that came without an id, which is no field of any format.
MINTED = "minted_id"
# What the formats call the part of a reasoning block that only its issuer can read.
_SEALS = ("signature", "data", "encrypted_content", FIELD)


def is_signed(part: Reasoning) -> bool:
    """Whether a block of reasoning carries something that only its issuer understands."""
    if isinstance(part.raw, list):
        return any(_has_seal(item) for item in part.raw)
    return _has_seal(part.raw)


def is_signed_part(part: Part) -> bool:
    """Whether a text or call carries a thought signature."""
    return isinstance(part, Text | ToolCall) and bool(_own(part.extra).get(FIELD))


def with_sentinel(call: ToolCall, sentinel: str) -> ToolCall:
    """The call under the documented signature of a call made elsewhere."""
    return replace(call, extra={**call.extra, FORMAT: {**_own(call.extra), FIELD: sentinel}})


def without_own_fields(part: Part) -> Part:
    """The part without what only its issuer understands; the same part where it had none."""
    if not isinstance(part, Text | ToolCall):
        return part
    noted = {
        form: {MINTED: True}
        for form, fields in part.extra.items()
        if isinstance(fields, Mapping) and MINTED in fields
    }
    return part if noted == part.extra else replace(part, extra=noted)


def has_signature(part: Part) -> bool:
    """Whether a text or call carries a signature, of whatever format and however deep."""
    return isinstance(part, Text | ToolCall) and "signature" in json.dumps(part.extra).lower()


def _has_seal(raw: JSON) -> bool:
    return isinstance(raw, Mapping) and any(raw.get(name) for name in _SEALS)


def _own(extra: Extra) -> Mapping[str, JSON]:
    fields = extra.get(FORMAT)
    return fields if isinstance(fields, Mapping) else {}
