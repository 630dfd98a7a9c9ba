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
        "supports_streaming_tool_use": None,
        "error_repair": "unknown",
        "tool_choice": [],
    }
)
SILENT = Effect(SILENCE, NO_CALLS)
# The capabilities of a vendor that never answers.
NOTHING_KNOWN: Mapping[str, JSON] = MappingProxyType(
    {
        "schema_level": "unknown",
        "tool_call_format": "unknown",
        "parser": None,
        "supports_parallel_tool_use": None,
        "reasoning_replay": "unknown",
        "supports_streaming_tool_use": None,
        "error_repair": "unknown",
        "tool_choice": None,
    }
)
