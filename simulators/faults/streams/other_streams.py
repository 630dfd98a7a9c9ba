"""Stream faults of every format except Chat Completions."""

from __future__ import annotations

from simulators.faults.fault import Fault
from simulators.faults.streams import (
    anthropic_streams,
    gemini_streams,
    ollama_streams,
    responses_streams,
)
from simulators.faults.streams.stream_fault import StreamRewrite

_UNKNOWN_EVENTS = StreamRewrite(
    {
        anthropic_streams.FORMAT: anthropic_streams.unknown_events,
        responses_streams.FORMAT: responses_streams.renumber(responses_streams.unknown_events),
    }
)
FAULTS: tuple[Fault, ...] = (
    *anthropic_streams.FAULTS,
    *responses_streams.FAULTS,
    *gemini_streams.FAULTS,
    *ollama_streams.FAULTS,
    Fault(
        "unknown-events",
        "",
        "pings where the format has them, and events of names that no client knows",
        lambda value: _UNKNOWN_EVENTS,
        frozenset(_UNKNOWN_EVENTS.rules),
    ),
)
