"""Requests that vendors refuse, and how to check a refusal."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import httpx
from typing_extensions import override

from probes.adapters import FORMATS
from probes.errors import NotFound, Refused
from probes.findings import FindingKind
from probes.http_messages import Chunk, WireResponse
from probes.http_reply import read_http_reply
from simulators.vendors.vendor_registry import SPECS

KEYS = {
    "authorization": "Bearer sim-test",
    "x-api-key": "sim-test",
    "x-goog-api-key": "sim-test",
    "anthropic-version": "2023-06-01",
}
BY_NAME = {spec.name: spec for spec in SPECS}
# The path of each vendor's first model.
PATHS = {
    spec.name: spec.mount + spec.path.replace("{model}", next(iter(spec.models))) for spec in SPECS
}


@dataclass(frozen=True)
class Refusal:
    """A request that a vendor refuses, its message, and our classification of it."""

    vendor: str
    body: dict[str, Any]
    text: str
    kind: str
    status: int = field(default=400, kw_only=True)

    def check(self, url: str) -> None:
        """Send the request and check status, message and classification."""
        response = post(url, self.vendor, json=self.body)
        assert response.status_code == self.status, response.text
        assert read_message(response).startswith(self.text)
        assert classify_refusal(response, BY_NAME[self.vendor].format) == FindingKind(self.kind)

    @override
    def __str__(self) -> str:
        return f"{self.vendor}-{self.text[:40]}"


def post(url: str, vendor: str, **options: Any) -> httpx.Response:
    with httpx.Client(trust_env=False) as client:
        return client.post(url + PATHS[vendor], headers=options.pop("headers", KEYS), **options)


def read_message(response: httpx.Response) -> str:
    body = response.json()
    error = body.get("error", body)
    if isinstance(error, str):
        return error
    return str(error.get("message") or error["detail"])


def classify_refusal(response: httpx.Response, wire_format: str) -> FindingKind:
    """Our classification of a refusal."""
    chunks = (Chunk(0, response.content),)
    incoming = WireResponse(response.status_code, dict(response.headers), chunks)
    try:
        read_http_reply(FORMATS[wire_format], incoming)
    except Refused as exc:
        return exc.kind
    except NotFound:
        return FindingKind.NOT_FOUND
    raise AssertionError("Nothing was refused.")
