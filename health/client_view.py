"""What an ordinary client does with an endpoint's bytes, apart from what our readers tolerate.

Each entry was seen with the official SDK of the format on such bytes
(tests/health/test_client_view.py).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Protocol

from health.streaming import UNKNOWN, UNSETTLED
from probes.messages import JSON
from probes.outcomes import Attempt

SDKS = MappingProxyType(
    {
        "openai": "openai-python",
        "openai_responses": "openai-python",
        "anthropic": "anthropic-sdk-python",
        "gemini": "google-genai",
        "ollama": "ollama-python",
    }
)
LOOPS = "agent loops that go by the finish reason"
PAIRING = "agents that pair results with calls by id"
# Per deviation, what it breaks besides the SDK, and how the SDK reads it.
_SDK = ""
BREAKING: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "index_missing": (_SDK, "the SDK raises an error"),
        "index_reused": (_SDK, "the SDK runs names and arguments of calls together"),
        "index_drift": (_SDK, "the SDK spreads one call over several"),
        "arguments_object": (_SDK, "arguments are an object where the SDK promises a string"),
        "arguments_string": (_SDK, "input is a string where the SDK promises an object"),
        "not_streamed": (_SDK, "the SDK finds no events, and raises an error"),
        "missing_id": (PAIRING, "a call has no id"),
        "duplicate_id": (PAIRING, "several calls of a turn have the same id"),
        "stop_with_calls": (LOOPS, "the finish reason says that there are no calls"),
        "finish_reason_missing": (LOOPS, "there is no finish reason"),
        "missing_stop_reason": (LOOPS, "there is no stop reason"),
    }
)


@dataclass(frozen=True, slots=True)
class SeenDeviation:
    """A deviation from the wire format, on one side, and the attempts that showed it."""

    code: str
    where: str
    attempts: tuple[str, ...]
    breaks: tuple[str, ...] = ()

    def as_json(self) -> dict[str, JSON]:
        return {
            "code": self.code,
            "where": self.where,
            "attempts": len(self.attempts),
            "breaks": list(self.breaks),
        }

    @property
    def reason(self) -> str:
        """Why an ordinary client fails; "" if it does not."""
        if not self.breaks:
            return ""
        return f"{self.where}: {BREAKING[self.code][1]} ({self.code})"


@dataclass(frozen=True, slots=True)
class ClientView:
    """Whether an ordinary SDK works with the endpoint: yes, no or unknown, and why not."""

    works_with_sdk: str
    reasons: tuple[str, ...] = ()

    def as_json(self) -> dict[str, JSON]:
        return {"works_with_sdk": self.works_with_sdk, "reasons": list(self.reasons)}


class HasValue(Protocol):
    """A capability, as far as this view needs it."""

    @property
    def value(self) -> JSON: ...


def view_as_client(
    attempts: Sequence[Attempt], capabilities: Mapping[str, HasValue], wire: str
) -> ClientView:
    """Judge the endpoint as a client that knows its wire format and tolerates nothing."""
    call_format, streaming = capabilities["tool_call_format"].value, capabilities["streaming"].value
    if call_format == UNKNOWN:
        return ClientView(UNKNOWN)
    reasons = []
    if call_format != wire:
        reasons.append("no calls arrive on the wire")
    if streaming not in ("works", UNKNOWN):
        reasons.append(f"streaming: {_STREAMING_REASONS[str(streaming)]}")
    reasons += [reason for d in find_deviations(attempts, wire) if (reason := d.reason)]
    return ClientView("no" if reasons else "yes", tuple(reasons))


_STREAMING_REASONS = {
    "leaks": "calls come as text",
    "loses_calls": "calls do not arrive",
    "garbles": "calls arrive with other arguments",
    "refused": "streams are refused, or come as whole answers",
    UNSETTLED: "calls do not always arrive as asked for",
}


def find_deviations(attempts: Sequence[Attempt], wire: str) -> list[SeenDeviation]:
    """The deviations of a run, those that break clients first."""
    seen: dict[tuple[str, str], list[str]] = defaultdict(list)
    for attempt in attempts:
        sides = attempt.facts.get("deviations")
        for side, codes in sides.items() if isinstance(sides, Mapping) else ():
            for code in codes if isinstance(codes, list | tuple) else ():
                seen[str(code), str(side)].append(f"{attempt.probe}/{attempt.trial}")
    found = [
        SeenDeviation(code, side, tuple(ids), _broken_clients(code, wire))
        for (code, side), ids in sorted(seen.items())
    ]
    return sorted(found, key=lambda deviation: not deviation.breaks)


def _broken_clients(code: str, wire: str) -> tuple[str, ...]:
    if code not in BREAKING:
        return ()
    return (BREAKING[code][0] or SDKS.get(wire, wire),)
