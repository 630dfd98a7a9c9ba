"""What an ordinary client does with an endpoint's bytes, apart from what our readers tolerate.

Each entry was seen with the official SDK of the format on such bytes
(tests/health/test_client_view.py).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from typing_extensions import override

from health.capability import UNKNOWN, UNSETTLED
from health.translation import mark, say
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
# Formats of calls that no SDK reads.
TEXT_FORMATS = ("xml", "json_text")
LOOPS = "agent loops that go by the finish reason"
PAIRING = "agents that pair results with calls by id"
EVENTS = "clients that read events"
# Per deviation, what it breaks besides the SDK, and how the SDK reads it.
_SDK = ""
BREAKING: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "index_missing": (_SDK, mark("the SDK raises an error")),
        "index_reused": (_SDK, mark("the SDK runs names and arguments of calls together")),
        "index_drift": (_SDK, mark("the SDK spreads one call over several")),
        "arguments_object": (
            _SDK,
            mark("arguments are an object where the SDK promises a string"),
        ),
        "arguments_string": (_SDK, mark("input is a string where the SDK promises an object")),
        "arguments_not_streamed": (_SDK, mark("the SDK finds no arguments")),
        "blank_line": (_SDK, mark("the SDK raises an error")),
        "comment_in_stream": (
            _SDK,
            mark("the SDK takes a comment for data, and raises an error"),
        ),
        "not_streamed": (EVENTS, mark("the answer is no stream")),
        "missing_id": (PAIRING, mark("a call has no id")),
        "duplicate_id": (PAIRING, mark("several calls of a turn have the same id")),
        "stop_with_calls": (LOOPS, mark("the finish reason says that there are no calls")),
        "finish_reason_missing": (LOOPS, mark("there is no finish reason")),
        "missing_stop_reason": (LOOPS, mark("there is no stop reason")),
    }
)
_SIDES = {"whole": mark("whole"), "streamed": mark("streamed"), "streaming": mark("streaming")}


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


@dataclass(frozen=True, slots=True)
class ClientReason:
    """Why an ordinary client fails; its text is in the reader's language."""

    where: str
    text: str
    code: str = ""

    @override
    def __str__(self) -> str:
        where, text = say(_SIDES.get(self.where, self.where)), say(self.text)
        parts = [f"{where}: {text}" if where else text, f"({self.code})" if self.code else ""]
        return " ".join(part for part in parts if part)


@dataclass(frozen=True, slots=True)
class ClientView:
    """Whether an ordinary SDK works with the endpoint: yes, no or unknown, and why not."""

    works_with_sdk: str
    reasons: tuple[ClientReason, ...] = ()
    # The answer if there were no reasons.
    otherwise: str = UNKNOWN

    def as_json(self) -> dict[str, JSON]:
        return {
            "works_with_sdk": self.works_with_sdk,
            "reasons": [str(reason) for reason in self.reasons],
        }

    @property
    def without_format(self) -> ClientView:
        """The view of a client that reads calls out of the text, as the policy tells it to."""
        reasons = tuple(reason for reason in self.reasons if reason != _NOT_ON_WIRE)
        return ClientView("no" if reasons else self.otherwise, reasons, self.otherwise)


UNKNOWN_CLIENT = ClientView(UNKNOWN)
_NOT_ON_WIRE = ClientReason("", mark("no calls arrive on the wire"))
_SOMETIMES_ON_WIRE = ClientReason("", mark("calls do not always arrive on the wire"))
_STREAMING_REASONS = {
    "leaks": mark("calls come as text"),
    "loses_calls": mark("calls do not arrive"),
    "garbles": mark("calls arrive with other arguments"),
    "refused": mark("streams are refused, or come as whole answers"),
    UNSETTLED: mark("calls do not always arrive as asked for"),
}


def view_as_client(capabilities: Mapping[str, JSON], wire: str) -> ClientView:
    """Judge the endpoint as a client that knows its wire format and tolerates nothing.

    `capabilities` are the values of a profile.
    """
    call_format, streaming = capabilities.get("tool_call_format"), capabilities.get("streaming")
    if call_format in (None, UNKNOWN):
        return UNKNOWN_CLIENT
    reasons = [] if call_format == wire else [_NOT_ON_WIRE]
    if call_format == UNSETTLED:
        reasons = [_SOMETIMES_ON_WIRE]
    if streaming not in (None, "works", UNKNOWN):
        text = _STREAMING_REASONS.get(str(streaming), str(streaming))
        reasons.append(ClientReason("streaming", text))
    reasons += _deviation_reasons(capabilities.get("deviations"))
    # Without reasons, streams must have been seen to work.
    otherwise = "yes" if streaming == "works" else UNKNOWN
    return ClientView("no" if reasons else otherwise, tuple(reasons), otherwise)


def _deviation_reasons(deviations: JSON) -> list[ClientReason]:
    """The reasons among the stored deviations of a profile."""
    seen = deviations if isinstance(deviations, list | tuple) else ()
    return [
        ClientReason(str(deviation.get("where", "")), BREAKING[code][1], code)
        for deviation in seen
        if isinstance(deviation, Mapping) and (code := str(deviation.get("code"))) in BREAKING
    ]


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
