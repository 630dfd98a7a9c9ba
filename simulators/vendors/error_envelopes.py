"""Refused requests and each vendor's JSON envelope for errors."""

from __future__ import annotations

import json
from dataclasses import dataclass

from probes.adapters import FORMATS
from probes.messages import JSON

VLLM_TYPES = {400: "BadRequestError", 401: "AuthenticationError", 404: "NotFoundError"}
MINIMAX_TYPES = {400: "bad_request_error", 401: "authorized_error"}
GLM_CODES = {400: "1210", 401: "1001"}
KIMI_TYPES = {401: "invalid_authentication_error", 404: "resource_not_found_error"}
MISTRAL_TYPES = {
    "1500": "invalid_model",
    "3230": "invalid_request_message_order",
    "3280": "invalid_function_call",
}
RELAY_HOST = "SimHost"
UNPARSED = "We could not parse the JSON body of your request. ({detail})"
NO_MODEL = "The model `{model}` does not exist or you do not have access to it."


class RequestRefused(Exception):
    """A request that the vendor refuses, with the vendor's own message."""

    def __init__(
        self, message: str, *, status: int = 400, param: str | None = None, code: str | None = None
    ) -> None:
        super().__init__(message)
        self.message, self.status, self.param, self.code = message, status, param, code


class RefusedByHost(RequestRefused):
    """A refusal by the host behind a relay."""

    def __init__(self, inner: RequestRefused) -> None:
        super().__init__(inner.message, status=inner.status, param=inner.param, code=inner.code)


@dataclass(frozen=True, slots=True)
class PlainEnvelope:
    """The envelope of a wire format, with nothing of the vendor's own."""

    format: str

    def __call__(self, refusal: RequestRefused, request_id: str) -> dict[str, JSON]:
        return FORMATS[self.format].write_error(refusal.status, refusal.message)


def openai_envelope(refusal: RequestRefused, request_id: str) -> dict[str, JSON]:
    error: dict[str, JSON] = {"message": refusal.message, "type": "invalid_request_error"}
    return {"error": {**error, "param": refusal.param, "code": refusal.code}}


def deepseek_envelope(refusal: RequestRefused, request_id: str) -> dict[str, JSON]:
    kind = "authentication_error" if refusal.status == 401 else "invalid_request_error"
    error: dict[str, JSON] = {"message": refusal.message, "type": kind, "param": None}
    return {"error": {**error, "code": "invalid_request_error"}}


def vllm_envelope(refusal: RequestRefused, request_id: str) -> dict[str, JSON]:
    kind = VLLM_TYPES.get(refusal.status, "InternalServerError")
    error: dict[str, JSON] = {"message": refusal.message, "type": kind, "param": refusal.param}
    return {"error": {**error, "code": refusal.status}}


def llamacpp_envelope(refusal: RequestRefused, request_id: str) -> dict[str, JSON]:
    kind = "authentication_error" if refusal.status == 401 else "invalid_request_error"
    return {"error": {"code": refusal.status, "message": refusal.message, "type": kind}}


def anthropic_envelope(refusal: RequestRefused, request_id: str) -> dict[str, JSON]:
    body = FORMATS["anthropic"].write_error(refusal.status, refusal.message)
    return body | {"request_id": request_id}


def minimax_envelope(refusal: RequestRefused, request_id: str) -> dict[str, JSON]:
    status = refusal.status
    kind = MINIMAX_TYPES.get(status, "api_error" if status >= 500 else "bad_request_error")
    error: dict[str, JSON] = {"type": kind, "message": refusal.message, "http_code": str(status)}
    return {"type": "error", "error": error, "request_id": request_id}


def glm_envelope(refusal: RequestRefused, request_id: str) -> dict[str, JSON]:
    code = refusal.code or GLM_CODES.get(refusal.status, str(refusal.status))
    return {"error": {"code": code, "message": refusal.message}}


def dashscope_envelope(refusal: RequestRefused, request_id: str) -> dict[str, JSON]:
    code = refusal.code or "invalid_parameter_error"
    error: dict[str, JSON] = {"code": code, "param": None, "message": refusal.message}
    more: dict[str, JSON] = {"id": f"chatcmpl-{request_id}", "request_id": request_id}
    return {"error": {**error, "type": "invalid_request_error"}, **more}


def kimi_envelope(refusal: RequestRefused, request_id: str) -> dict[str, JSON]:
    kind = KIMI_TYPES.get(refusal.status, "invalid_request_error")
    return {"error": {"message": refusal.message, "type": kind}}


def mistral_envelope(refusal: RequestRefused, request_id: str) -> dict[str, JSON]:
    if refusal.status == 401:
        return {"detail": refusal.message}
    kind = MISTRAL_TYPES.get(refusal.code or "", "invalid_request_error")
    error: dict[str, JSON] = {"object": "error", "message": refusal.message, "type": kind}
    return {**error, "param": None, "code": refusal.code}


def relay_envelope(refusal: RequestRefused, request_id: str) -> dict[str, JSON]:
    """OpenRouter's envelope: its own message, with the host's error unchanged in the metadata."""
    error: dict[str, JSON] = {"message": refusal.message, "code": refusal.status}
    if isinstance(refusal, RefusedByHost):
        raw = json.dumps(openai_envelope(refusal, request_id))
        error["message"] = "Provider returned error"
        error["metadata"] = {"raw": raw, "provider_name": RELAY_HOST}
    return {"error": error, "user_id": "user_simulated"}
