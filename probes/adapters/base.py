from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from probes.messages import JSON, ModelCall, Reply
from probes.secret import Secret


@dataclass(frozen=True, slots=True)
class ErrorBody:
    """What an error answer says, taken out of the vendor's envelope."""

    message: str
    code: str = ""


class Adapter(Protocol):
    """One wire format. Pure functions of data: an adapter never sends."""

    @property
    def format(self) -> str: ...

    @property
    def path(self) -> str:
        """What is added to the base URL to ask a question."""
        ...

    def headers(self, key: Secret | None) -> dict[str, str]: ...

    def write_request(self, call: ModelCall) -> dict[str, JSON]: ...

    def read_reply(self, body: JSON) -> Reply: ...

    def read_error(self, body: JSON) -> ErrorBody | None:
        """The error a body carries, or None where it carries none. Never raises."""
        ...
