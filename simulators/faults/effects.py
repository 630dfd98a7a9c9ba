"""Effects of faults under which no call arrives."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from probes.messages import JSON
from probes.outcomes import Metric
from simulators.faults.fault import Effect

# The answer to an error must be a call as well.
SILENCE: Mapping[Metric, float] = MappingProxyType(
    {Metric.PARSE_SUCCESS: 1, Metric.REPAIR_SUCCESS: 1}
)
NO_CALLS: Mapping[str, JSON] = MappingProxyType(
    {
        "schema_level": "none",
        "tool_call_format": "none",
        "parser": None,
        "supports_parallel_tool_use": None,
        "parallel": "unknown",
        "supports_streaming_tool_use": None,
        "streaming": "unknown",
        "error_repair": "unknown",
        "tool_choice": [],
        "result_role": "unknown",
        "image_result": "unknown",
    }
)
SILENT = Effect(SILENCE, NO_CALLS)
# Of a fault that changes calls on the wire alone, in an answer whose calls are text.
NOTHING = Effect()
# Of a fault in leaked calls whose markup, names or types each client reads in its own way.
READER_DECIDES = Effect(
    dict.fromkeys(set(Metric) - {Metric.AVAILABILITY, Metric.REASONING_ONLY}),
    varying=frozenset(NO_CALLS) | {"reasoning_replay"},
)
# Calls arrive on the wire, and none of them can be read.
UNREADABLE: Mapping[str, JSON] = MappingProxyType(
    {
        "schema_level": "unknown",
        "supports_parallel_tool_use": None,
        "parallel": "unknown",
        "reasoning_replay": "unknown",
        "supports_streaming_tool_use": None,
        "streaming": "unknown",
        "error_repair": "unknown",
        "result_role": "unknown",
        "image_result": "unknown",
    }
)
# Several calls of one turn cannot be used.
ONE_CALL: Mapping[str, JSON] = MappingProxyType(
    {"supports_parallel_tool_use": False, "parallel": "none"}
)
# The capabilities of a vendor that never answers.
NOTHING_KNOWN: Mapping[str, JSON] = MappingProxyType(
    {
        "schema_level": "unknown",
        "tool_call_format": "unknown",
        "parser": None,
        "supports_parallel_tool_use": None,
        "parallel": "unknown",
        "reasoning_replay": "unknown",
        "supports_streaming_tool_use": None,
        "streaming": "unknown",
        "error_repair": "unknown",
        "tool_choice": None,
        "system_position": "unknown",
        "prompted_tools": "unknown",
        "result_role": "unknown",
        "image_result": "unknown",
    }
)
