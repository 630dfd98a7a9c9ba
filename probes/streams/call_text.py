from __future__ import annotations

import json

from probes.call_arguments import read_arguments
from probes.messages import BrokenCall, ToolCall


def arguments_text(call: ToolCall | BrokenCall) -> str:
    """The arguments as a JSON string: as received where that says what the call's input is."""
    if isinstance(call, BrokenCall):
        return call.raw
    # A call that was repaired, or found in text, has a raw form that no client can parse.
    if not call.repairs and read_arguments(call.raw).value == call.input:
        return call.raw
    return json.dumps(call.input, ensure_ascii=False)
