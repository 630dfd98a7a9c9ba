"""A request that a vendor refuses, and the envelope it says so in."""

from __future__ import annotations

from dataclasses import dataclass

from probes.adapters import FORMATS
from probes.messages import JSON

VLLM_TYPES = {400: "BadRequestError", 401: "AuthenticationError", 404: "NotFoundError"}


class Complaint(Exception):
    """A request that the vendor would refuse, with its own words for it."""

    def __init__(
        self, message: str, *, status: int = 400, param: str | None = None, code: str | None = None
    ) -> None:
        super().__init__(message)
        self.message, self.status, self.param, self.code = message, status, param, code


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
