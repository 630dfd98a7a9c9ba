"""Fallback modes: switches that restrict callers, and the modes that each degradation turns on."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType

from health.severity import Severity
from health.translation import mark, say
from probes.outcomes import Metric


class Mode(StrEnum):
    """Weakest first; they are released in reverse order."""

    VERBATIM_HISTORY = "verbatim_history"
    NO_PARALLEL = "no_parallel"
    NO_STREAMING_TOOLS = "no_streaming_tools"
    STRICT_SCHEMA = "strict_schema"
    STRONG_VALIDATION = "strong_validation"
    READ_ONLY_TOOLS = "read_only_tools"
    NO_TOOLS = "no_tools"


EFFECTS: Mapping[Mode, str] = MappingProxyType(
    {
        Mode.VERBATIM_HISTORY: mark("Reasoning goes back as it came, and no history is trimmed."),
        Mode.NO_PARALLEL: mark("At most one tool call a turn."),
        Mode.NO_STREAMING_TOOLS: mark("Turns with tools are fetched whole; plain text may stream."),
        Mode.STRICT_SCHEMA: mark(
            "Schemas are simplified on the way out and checked strictly on the way in; nothing is "
            "repaired."
        ),
        Mode.STRONG_VALIDATION: mark(
            "Every call is checked, no repaired call may run, and the model is asked again at most "
            "once."
        ),
        Mode.READ_ONLY_TOOLS: mark("Only tools that read are offered and let through."),
        Mode.NO_TOOLS: mark("No tools at all: the model plans and explains."),
    }
)

# On while an endpoint has no baseline, or its measurements are too old.
CONSERVATIVE = frozenset(Mode) - {Mode.NO_TOOLS, Mode.STRICT_SCHEMA}

_READ_ONLY = (Mode.READ_ONLY_TOOLS,)
_NONE = (Mode.NO_TOOLS,)
# The modes that each severity adds, mildest first.
_MODES_BY_SEVERITY: Mapping[Metric, tuple[tuple[Mode, ...], tuple[Mode, ...], tuple[Mode, ...]]] = (
    MappingProxyType(
        {
            Metric.PARSE_SUCCESS: (
                (Mode.STRONG_VALIDATION, Mode.NO_STREAMING_TOOLS),
                _READ_ONLY,
                _NONE,
            ),
            Metric.SCHEMA_FAILURE: (
                (Mode.STRICT_SCHEMA, Mode.STRONG_VALIDATION),
                _READ_ONLY,
                _NONE,
            ),
            Metric.CLOSURE_ERROR: ((Mode.NO_PARALLEL,), _READ_ONLY, _NONE),
            # Whether reasoning can be turned off is not measured, so tools are turned off.
            Metric.REASONING_REPLAY_ERROR: ((Mode.VERBATIM_HISTORY,), _NONE, ()),
            Metric.REPAIR_SUCCESS: ((Mode.STRONG_VALIDATION,), (), ()),
            Metric.PARALLEL_DOWNGRADE: ((Mode.NO_PARALLEL,), (), ()),
            Metric.UNSAFE_BLOCKED: ((Mode.STRONG_VALIDATION,), _READ_ONLY, _NONE),
            Metric.STREAM_DISAGREEMENT: ((Mode.NO_STREAMING_TOOLS,), (), ()),
            # Results may be lost where the history is rewritten.
            Metric.RESULT_USE: ((Mode.VERBATIM_HISTORY,), _READ_ONLY, _NONE),
            Metric.VALUE_FIDELITY: ((Mode.STRONG_VALIDATION,), _READ_ONLY, _NONE),
        }
    )
)
# Metrics that are watched for degradation. All but one share the budget of false alarms; streams
# come on top, because streams are known to lose arguments.
WATCHED = tuple(_MODES_BY_SEVERITY)
BUDGETED = tuple(metric for metric in WATCHED if metric is not Metric.STREAM_DISAGREEMENT)


def describe_mode(mode: Mode) -> str:
    """The effect of a mode, in the reader's language; `EFFECTS` holds the English."""
    return say(EFFECTS[mode])


def fallback_modes(metric: Metric, severity: Severity) -> frozenset[Mode]:
    """The modes that a degradation of this severity turns on."""
    return frozenset(mode for step in _MODES_BY_SEVERITY[metric][: severity.value] for mode in step)


def below_gate_modes(metric: Metric) -> frozenset[Mode]:
    """The modes of an endpoint that has been below the absolute gate from the start."""
    if metric in (Metric.SCHEMA_FAILURE, Metric.VALUE_FIDELITY):
        # Calls arrive and can be read, so tools that only read do no harm.
        return fallback_modes(metric, Severity.S2)
    return frozenset({Mode.NO_TOOLS})
