from __future__ import annotations

from probes.errors import (
    AuthRejected,
    ConnectFailed,
    HistoryError,
    NotFound,
    NotJSON,
    Overloaded,
    ProbesError,
    ProviderError,
    RateLimited,
    Redirected,
    Refused,
    StreamBroken,
    TargetError,
    TimedOut,
    TooLarge,
    TransportError,
    WireError,
)
from probes.messages import JSON
from probes.outcomes import Finding, FindingKind, Metric, Outcome, Verdict
from probes.suite.base import Judgement

# The first class that matches gives the finding's kind.
ERROR_KINDS: tuple[tuple[type[ProbesError], FindingKind], ...] = (
    (TargetError, FindingKind.TARGET_ERROR),
    (ConnectFailed, FindingKind.UNREACHABLE),
    (TimedOut, FindingKind.TIMED_OUT),
    (TooLarge, FindingKind.TOO_LARGE),
    (TransportError, FindingKind.BROKEN_OFF),
    (AuthRejected, FindingKind.AUTH_REJECTED),
    (NotFound, FindingKind.NOT_FOUND),
    (RateLimited, FindingKind.RATE_LIMITED),
    (StreamBroken, FindingKind.BROKEN_OFF),
    (Overloaded, FindingKind.OVERLOADED),
    (Redirected, FindingKind.REDIRECTED),
    (NotJSON, FindingKind.NOT_JSON),
    (ProviderError, FindingKind.PROVIDER_ERROR),
    (WireError, FindingKind.WIRE_ERROR),
    # A history that our own script left unclosed says nothing about the endpoint.
    (HistoryError, FindingKind.OUR_FAULT),
)
# Refusals that concern tools are failures of the endpoint, not transport errors.
FAILURE_KINDS = frozenset(
    {
        FindingKind.NO_TOOLS,
        FindingKind.SCHEMA_REFUSED,
        FindingKind.FORCED_CHOICE,
        FindingKind.ENDPOINT_MISMATCH,
        FindingKind.SERVER_PARSE,
    }
)


def judge_error(error: ProbesError, refusal_metrics: tuple[Metric, ...]) -> Judgement:
    """Fail if the endpoint broke its promise about tools, void if it could not be tested."""
    at = error.at if isinstance(error, WireError) else ""
    finding = Finding(_kind(error), error.message, at)
    if not _is_failure(error):
        # No verdict on the model, and a fact about its streams.
        is_broken = isinstance(error, StreamBroken)
        facts: dict[str, JSON] = {"turns": {"streamed": ["broken_off"]}} if is_broken else {}
        return Judgement(Outcome.VOID, (finding,), facts=facts)
    return Judgement(
        Outcome.FAIL, (finding,), tuple(Verdict(metric, good=False) for metric in refusal_metrics)
    )


def _kind(error: ProbesError) -> FindingKind:
    if isinstance(error, Refused):
        return error.kind
    return next(kind for cls, kind in ERROR_KINDS if isinstance(error, cls))


def _is_failure(error: ProbesError) -> bool:
    match error:
        case WireError():
            return True
        case Refused(kind=FindingKind.PARAM_UNKNOWN):
            # Refusing `tools` is the endpoint's fault; refusing an operator's option is not.
            return "tool" in error.message.lower()
        case Refused():
            return error.kind in FAILURE_KINDS
        case _:
            return False
