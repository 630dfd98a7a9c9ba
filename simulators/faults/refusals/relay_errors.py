"""Refusals that a relay wraps, with the vendor's own message inside."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, replace

from typing_extensions import override

from probes.messages import JSON
from simulators.faults.fault import CHAT, Fault
from simulators.faults.fault_switch import SwitchError
from simulators.vendors.error_envelopes import RequestRefused
from simulators.vendors.hooks import FaultHooks
from simulators.vendors.spec import Spec

Wrap = Callable[[Spec, RequestRefused, dict[str, JSON]], dict[str, JSON]]
LITELLM_ERRORS = {400: "BadRequestError", 401: "AuthenticationError", 404: "NotFoundError"}


@dataclass(frozen=True, slots=True)
class RelayWrapper(FaultHooks):
    """Wraps every refusal."""

    wrap: Wrap

    @override
    def spec(self, spec: Spec) -> Spec:
        if spec.format not in CHAT:
            return spec

        def envelope(refusal: RequestRefused, request_id: str) -> dict[str, JSON]:
            return self.wrap(spec, refusal, spec.envelope(refusal, request_id))

        return replace(spec, envelope=envelope)


def _openrouter(spec: Spec, refusal: RequestRefused, body: dict[str, JSON]) -> dict[str, JSON]:
    metadata: dict[str, JSON] = {"raw": json.dumps(body), "provider_name": spec.title}
    message = "Provider returned error"
    return {"error": {"message": message, "code": refusal.status, "metadata": metadata}}


def _provider_named(spec: Spec, refusal: RequestRefused, body: dict[str, JSON]) -> dict[str, JSON]:
    message = f"Error from provider ({spec.title}): {refusal.message}"
    return _error_body(message, "invalid_request_error")


def _litellm(spec: Spec, refusal: RequestRefused, body: dict[str, JSON]) -> dict[str, JSON]:
    kind = LITELLM_ERRORS.get(refusal.status, "APIError")
    vendor = spec.name.capitalize()
    message = (
        f"litellm.{kind}: {vendor}Exception - {json.dumps(body)}. Received Model Group=default"
    )
    return _error_body(message, str(refusal.status))


def _model_bracketed(spec: Spec, refusal: RequestRefused, body: dict[str, JSON]) -> dict[str, JSON]:
    model = f"{spec.name}/{next(iter(spec.models))}"
    return _error_body(f"[{model}] [{refusal.status}]: {json.dumps(body)}", str(refusal.status))


def _error_body(message: str, code: str) -> dict[str, JSON]:
    error: dict[str, JSON] = {"message": message, "type": "invalid_request_error"}
    return {"error": {**error, "param": None, "code": code}}


# By the value of the switch.
WRAPS: tuple[Wrap, ...] = (_openrouter, _provider_named, _litellm, _model_bracketed)


def _make(value: float | None) -> RelayWrapper:
    if value not in (None, *range(len(WRAPS))):
        raise SwitchError(f"relay-wrapped takes a value from 0 to {len(WRAPS) - 1}.")
    return RelayWrapper(WRAPS[int(value or 0)])


RELAY_WRAPPED = Fault(
    "relay-wrapped",
    "",
    "whatever is refused is told in a relay's envelope around the vendor's own",
    _make,
    CHAT,
    value='which relay: 0 OpenRouter, 1 "Error from provider", 2 LiteLLM, 3 9router',
)
