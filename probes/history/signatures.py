"""Where signatures are in the values, and how to remove them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace

from probes.messages import JSON, Extra, Part, Reasoning, Text, ToolCall

FORMAT = "gemini"
FIELD = "thoughtSignature"
# Our own mark on a call that was received without an id; no field of any format.
MINTED = "minted_id"
# The fields of a reasoning block that only its issuer can read, in all formats.
_SIGNATURE_FIELDS = ("signature", "data", "encrypted_content", FIELD)


def is_signed(part: Reasoning) -> bool:
    """Whether a block of reasoning has a field that only its issuer understands."""
    if isinstance(part.raw, list):
        return any(_has_signature_field(item) for item in part.raw)
    return _has_signature_field(part.raw)


def is_signed_part(part: Part) -> bool:
    """Whether a text or call carries a thought signature."""
    return isinstance(part, Text | ToolCall) and bool(_own_fields(part.extra).get(FIELD))


def with_sentinel(call: ToolCall, sentinel: str) -> ToolCall:
    """The call with the documented signature for calls made elsewhere."""
    return replace(call, extra={**call.extra, FORMAT: {**_own_fields(call.extra), FIELD: sentinel}})


def without_own_fields(part: Part) -> Part:
    """The part without fields that only its issuer understands; the same part if it has none."""
    if not isinstance(part, Text | ToolCall):
        return part
    own_notes = {
        form: {MINTED: True}
        for form, fields in part.extra.items()
        if isinstance(fields, Mapping) and MINTED in fields
    }
    return part if own_notes == part.extra else replace(part, extra=own_notes)


def has_signature(part: Part) -> bool:
    """Whether a text or call has a signature, in any format and at any depth."""
    return isinstance(part, Text | ToolCall) and "signature" in json.dumps(part.extra).lower()


def _has_signature_field(raw: JSON) -> bool:
    return isinstance(raw, Mapping) and any(raw.get(name) for name in _SIGNATURE_FIELDS)


def _own_fields(extra: Extra) -> Mapping[str, JSON]:
    fields = extra.get(FORMAT)
    return fields if isinstance(fields, Mapping) else {}
