"""Errors that are about the endpoint as it is described, not about the question that was sent."""

from __future__ import annotations

import re

from probes.errors import (
    AuthRejected,
    ConnectFailed,
    NotFound,
    NotJSON,
    Overloaded,
    Phase,
    ProbesError,
    ProviderError,
    RateLimited,
    Redirected,
    Refused,
    StreamBroken,
    TimedOut,
)
from probes.findings import FindingKind

_WHOLE_ENDPOINT = (AuthRejected, NotFound, NotJSON, Overloaded, RateLimited, Redirected)
# These can mean the target or one question: the same for several probes means the target.
_POSSIBLY_TARGET = frozenset(
    {
        FindingKind.PARAM_UNKNOWN,
        FindingKind.PROVIDER_ERROR,
        FindingKind.ROLE_REFUSED,
        FindingKind.THINKING_MODE_REFUSED,
    }
)
# Ids and counts differ between answers that say the same.
_VARIABLE = re.compile(r"[0-9a-f-]{8,}|\d+")


def rejection_cause(error: ProbesError | None) -> str | None:
    """Identifies what a rejection is about; None for an answer, or an error that may be chance."""
    match error:
        case ConnectFailed() | TimedOut(phase=Phase.CONNECT):
            return "connect"
        case StreamBroken():
            # The request was taken, and whole answers may well arrive.
            return None
        case Refused():
            return _refusal_cause(error)
        case ProviderError() if isinstance(error, _WHOLE_ENDPOINT):
            return f"{type(error).__name__} {error.status}"
        case _:
            return None


def _refusal_cause(refusal: Refused) -> str | None:
    # A refusal of tools is a verdict about the endpoint, which every probe is judged by.
    if refusal.kind not in _POSSIBLY_TARGET or _is_about_tools(refusal):
        return None
    return f"{refusal.kind} {_VARIABLE.sub('#', refusal.message.lower())}"


def _is_about_tools(refusal: Refused) -> bool:
    return refusal.kind is FindingKind.PARAM_UNKNOWN and "tool" in refusal.message.lower()
