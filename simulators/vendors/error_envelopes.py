"""A request that a vendor refuses, and the envelope it says so in."""

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


class Complaint(Exception):
    """A request that the vendor would refuse, with its own words for it."""

    def __init__(
        self, message: str, *, status: int = 400, param: str | None = None, code: str | None = None
    ) -> None:
        super().__init__(message)
        self.message, self.status, self.param, self.code = message, status, param, code


class Relayed(Complaint):
    """What the host behind a relay complains of."""

    def __init__(self, inner: Complaint) -> None:
        super().__init__(inner.message, status=inner.status, param=inner.param, code=inner.code)


@dataclass(frozen=True, slots=True)
class PlainEnvelope:
    """The envelope of a wire format, with nothing of the vendor's own."""

    format: str

    def __call__(self, complaint: Complaint, request_id: str) -> dict[str, JSON]:
        return FORMATS[self.format].write_error(complaint.status, complaint.message)


def openai_envelope(complaint: Complaint, request_id: str) -> dict[str, JSON]:
    error: dict[str, JSON] = {"message": complaint.message, "type": "invalid_request_error"}
    return {"error": {**error, "param": complaint.param, "code": complaint.code}}


def deepseek_envelope(complaint: Complaint, request_id: str) -> dict[str, JSON]:
    kind = "authentication_error" if complaint.status == 401 else "invalid_request_error"
    error: dict[str, JSON] = {"message": complaint.message, "type": kind, "param": None}
    return {"error": {**error, "code": "invalid_request_error"}}


def vllm_envelope(complaint: Complaint, request_id: str) -> dict[str, JSON]:
    kind = VLLM_TYPES.get(complaint.status, "InternalServerError")
    error: dict[str, JSON] = {"message": complaint.message, "type": kind, "param": complaint.param}
    return {"error": {**error, "code": complaint.status}}


def llamacpp_envelope(complaint: Complaint, request_id: str) -> dict[str, JSON]:
    kind = "authentication_error" if complaint.status == 401 else "invalid_request_error"
    return {"error": {"code": complaint.status, "message": complaint.message, "type": kind}}


def anthropic_envelope(complaint: Complaint, request_id: str) -> dict[str, JSON]:
    body = FORMATS["anthropic"].write_error(complaint.status, complaint.message)
    return body | {"request_id": request_id}


def minimax_envelope(complaint: Complaint, request_id: str) -> dict[str, JSON]:
    status = complaint.status
    kind = MINIMAX_TYPES.get(status, "api_error" if status >= 500 else "bad_request_error")
    error: dict[str, JSON] = {"type": kind, "message": complaint.message, "http_code": str(status)}
    return {"type": "error", "error": error, "request_id": request_id}


def glm_envelope(complaint: Complaint, request_id: str) -> dict[str, JSON]:
    code = complaint.code or GLM_CODES.get(complaint.status, str(complaint.status))
    return {"error": {"code": code, "message": complaint.message}}


def dashscope_envelope(complaint: Complaint, request_id: str) -> dict[str, JSON]:
    code = complaint.code or "invalid_parameter_error"
    error: dict[str, JSON] = {"code": code, "param": None, "message": complaint.message}
    more: dict[str, JSON] = {"id": f"chatcmpl-{request_id}", "request_id": request_id}
    return {"error": {**error, "type": "invalid_request_error"}, **more}


def kimi_envelope(complaint: Complaint, request_id: str) -> dict[str, JSON]:
    kind = KIMI_TYPES.get(complaint.status, "invalid_request_error")
    return {"error": {"message": complaint.message, "type": kind}}


def mistral_envelope(complaint: Complaint, request_id: str) -> dict[str, JSON]:
    if complaint.status == 401:
        return {"detail": complaint.message}
    kind = MISTRAL_TYPES.get(complaint.code or "", "invalid_request_error")
    error: dict[str, JSON] = {"object": "error", "message": complaint.message, "type": kind}
    return {**error, "param": None, "code": complaint.code}


def relay_envelope(complaint: Complaint, request_id: str) -> dict[str, JSON]:
    """OpenRouter's: its own sentence, and the host's error as it came."""
    error: dict[str, JSON] = {"message": complaint.message, "code": complaint.status}
    if isinstance(complaint, Relayed):
        raw = json.dumps(openai_envelope(complaint, request_id))
        error["message"] = "Provider returned error"
        error["metadata"] = {"raw": raw, "provider_name": RELAY_HOST}
    return {"error": error, "user_id": "user_simulated"}
