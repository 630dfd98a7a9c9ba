"""Answers in place of the model's: the vendor, or a proxy in front of it, has an outage."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from typing_extensions import override

from probes.messages import JSON
from probes.outcomes import Metric
from simulators.faults.fault import CHAT, Effect, Fault
from simulators.faults.fault_switch import SwitchError
from simulators.vendors.error_envelopes import RequestRefused
from simulators.vendors.hooks import FaultHooks, OutgoingAnswer
from simulators.vendors.spec import Envelope, Spec
from simulators.vendors.vendor_auth import Auth

NO_VERDICT = Effect({Metric.AVAILABILITY: 1})
RETRY_AFTER = 2
# Counts the requests that follow the redirect, see simulators/hostile_vendors.py.
REDIRECT_TARGET = "/hostile/landing/v1/chat/completions"
SIGN_IN = (
    "<!doctype html>\n<html><head><title>Sign in</title></head><body><h1>Sign in</h1></body>\n"
)

# Messages by format; the one above each is that of Chat Completions and Responses.
RATE_LIMITED = "Rate limit reached for requests"
SLOW_DOWN = {
    "anthropic": "This request would exceed your account's rate limit. Please try again later.",
    "gemini": "Resource has been exhausted (e.g. check quota).",
    "ollama": "too many concurrent requests",
}
OVERLOADED = "The engine is currently overloaded, please try again later"
BUSY = {
    "anthropic": "Overloaded",
    "gemini": "The model is overloaded. Please try again later.",
    "ollama": "server busy, please try again.  maximum pending requests exceeded",
}
SERVER_ERROR = "The server had an error while processing your request. Sorry about that!"
BROKEN = {
    "anthropic": "Internal server error",
    "gemini": "An internal error has occurred. Please retry.",
    "ollama": "llama runner process has terminated: signal: killed",
}
NO_ACCESS = {
    "gemini": "Request had invalid authentication credentials. Expected OAuth 2 access token, "
    "login cookie or other valid authentication credential.",
    "ollama": "unauthorized",
}
# Titles of the error pages of a proxy in front of the vendor.
PROXY_TITLES = {502: "502 Bad Gateway", 504: "504 Gateway Time-out"}
# The types that an envelope for refused requests gives to every error.
REFUSED_TYPES = ("invalid_request_error", "bad_request_error", "BadRequestError")
TYPES = {401: "authentication_error", 429: "rate_limit_error", 503: "service_unavailable_error"}
CODES = {429: "rate_limit_exceeded"}
BASE_RESP = {
    1000: "unknown error",
    1001: "request timeout",
    1002: "rate limit",
    1004: "not authorized",
    1008: "insufficient balance",
    1013: "internal service error",
}


@dataclass(frozen=True, slots=True)
class ReplacedAnswer(FaultHooks):
    """An answer in place of the vendor's, sent before the request is read."""

    write: Callable[[Spec, random.Random], OutgoingAnswer | None]

    @override
    def early_answer(self, spec: Spec, rng: random.Random) -> OutgoingAnswer | None:
        return self.write(spec, rng)


@dataclass(frozen=True, slots=True)
class RejectingAuth(Auth):
    """Rejects every key."""

    message: str = ""
    status: int = 503

    @override
    def check(self, headers: Mapping[str, str], query: Mapping[str, str]) -> None:
        raise RequestRefused(self.message, status=self.status, code=self.code)


@dataclass(frozen=True, slots=True)
class ClosedVendor(FaultHooks):
    """Refuses every request, metadata included."""

    change: Callable[[Spec], Spec]

    @override
    def spec(self, spec: Spec) -> Spec:
        return self.change(spec)


def outage_envelope(envelope: Envelope) -> Envelope:
    """A vendor's envelope with the error type of an outage in place of a bad request."""

    def write(refusal: RequestRefused, request_id: str) -> dict[str, JSON]:
        return _retype_error(envelope(refusal, request_id), refusal.status)

    return write


def _retype_error(body: Mapping[str, JSON], status: int) -> dict[str, JSON]:
    changed = dict(body)
    if body.get("type") in REFUSED_TYPES:
        changed["type"] = TYPES.get(status, "server_error")
    inner = body.get("error")
    if isinstance(inner, Mapping):
        changed["error"] = _retype_error(inner, status)
    return changed


def _error_answer(spec: Spec, rng: random.Random, status: int, message: str) -> OutgoingAnswer:
    """An error in the vendor's own envelope."""
    request_id = f"req_{rng.getrandbits(96):024x}"
    refusal = RequestRefused(message, status=status, code=CODES.get(status))
    body = json.dumps(outage_envelope(spec.envelope)(refusal, request_id)).encode("ascii")
    headers = {"server": spec.server, spec.request_id: request_id}
    return OutgoingAnswer([body], "application/json", status, headers)


def _rate_limit(value: float | None) -> FaultHooks:
    seconds = math.ceil(RETRY_AFTER if value is None else value)

    def write(spec: Spec, rng: random.Random) -> OutgoingAnswer:
        message = SLOW_DOWN.get(spec.format, RATE_LIMITED)
        answer = _error_answer(spec, rng, 429, message)
        return replace(answer, headers={**answer.headers, "retry-after": str(seconds)})

    return ReplacedAnswer(write)


def _server_error(value: float | None) -> FaultHooks:
    status = 500 if value is None else int(value)
    if not 500 <= status <= 599:
        raise SwitchError(f"{status} is no status of a server error; give one from 500 to 599.")

    def write(spec: Spec, rng: random.Random) -> OutgoingAnswer:
        if status in PROXY_TITLES:
            return _proxy_page(status)
        messages, default = (BUSY, OVERLOADED) if status in (503, 529) else (BROKEN, SERVER_ERROR)
        return _error_answer(spec, rng, status, messages.get(spec.format, default))

    return ReplacedAnswer(write)


def _proxy_page(status: int) -> OutgoingAnswer:
    title = PROXY_TITLES[status]
    page = (
        f"<html>\r\n<head><title>{title}</title></head>\r\n<body>\r\n"
        f"<center><h1>{title}</h1></center>\r\n<hr><center>nginx</center>\r\n</body>\r\n</html>\r\n"
    )
    return OutgoingAnswer([page.encode("ascii")], "text/html", status, {"server": "nginx"})


def _down(spec: Spec) -> Spec:
    message = BUSY.get(spec.format, OVERLOADED)
    return replace(
        spec, auth=RejectingAuth(message=message), envelope=outage_envelope(spec.envelope)
    )


def _loading(spec: Spec) -> Spec:
    if spec.format not in CHAT:
        return spec
    return replace(
        spec, auth=RejectingAuth(message="Loading model"), envelope=_unavailable_envelope
    )


def _unavailable_envelope(refusal: RequestRefused, request_id: str) -> dict[str, JSON]:
    error: dict[str, JSON] = {"message": refusal.message, "type": "unavailable_error"}
    return {"error": {**error, "code": refusal.status}}


def _auth_lost(spec: Spec) -> Spec:
    default = spec.auth.wrong.replace("{key}", "***") if spec.auth else "Invalid API key"
    code = spec.auth.code if spec.auth else None
    message = NO_ACCESS.get(spec.format, default)
    auth = RejectingAuth(message=message, status=401, code=code)
    return replace(spec, auth=auth, envelope=outage_envelope(spec.envelope))


def _base_resp(value: float | None) -> FaultHooks:
    code = 1002 if value is None else int(value)
    if code not in BASE_RESP:
        raise SwitchError(
            f"MiniMax has no code {code}; give one of {', '.join(map(str, BASE_RESP))}."
        )
    inside: JSON = {"status_code": code, "status_msg": BASE_RESP[code]}

    def write(spec: Spec, rng: random.Random) -> OutgoingAnswer | None:
        if spec.format not in CHAT:
            return None
        body = {"id": f"{rng.getrandbits(128):032x}", "choices": None, "created": 0}
        data = json.dumps({**body, "model": "", "base_resp": inside}).encode("ascii")
        return OutgoingAnswer([data], "application/json", headers={"server": spec.server})

    return ReplacedAnswer(write)


def _sign_in_page(spec: Spec, rng: random.Random) -> OutgoingAnswer:
    return OutgoingAnswer([SIGN_IN.encode("ascii")], "text/html")


def _redirect(spec: Spec, rng: random.Random) -> OutgoingAnswer:
    return OutgoingAnswer([b""], "text/plain", 307, {"location": REDIRECT_TARGET})


def _fault(
    name: str, symptom: str, make: Callable[[float | None], FaultHooks], value: str = ""
) -> Fault:
    return Fault(name, "", symptom, make, effect=NO_VERDICT, value=value)


def _always(hooks: FaultHooks) -> Callable[[float | None], FaultHooks]:
    return lambda value: hooks


FAULTS = (
    _fault(
        "rate-limit",
        "429 with Retry-After, in the vendor's envelope",
        _rate_limit,
        f"seconds in Retry-After ({RETRY_AFTER})",
    ),
    _fault(
        "server-error",
        "a 5xx in the vendor's envelope; 502 and 504 as a proxy's page",
        _server_error,
        "the status (500)",
    ),
    _fault("down", "503 for everything, also for lists and versions", _always(ClosedVendor(_down))),
    replace(
        _fault(
            "loading", "503 `Loading model`, as llama.cpp says it", _always(ClosedVendor(_loading))
        ),
        formats=CHAT,
    ),
    _fault("auth-lost", "401 for a key that was right before", _always(ClosedVendor(_auth_lost))),
    replace(
        _fault(
            "base-resp",
            "200 with MiniMax's `base_resp` that tells an error",
            _base_resp,
            "the code (1002)",
        ),
        formats=CHAT,
    ),
    _fault("html", "200 with a sign-in page", _always(ReplacedAnswer(_sign_in_page))),
    _fault("redirect", "307 to another path", _always(ReplacedAnswer(_redirect))),
)
