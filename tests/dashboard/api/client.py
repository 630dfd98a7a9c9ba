"""Requests to the API as a program makes them, inside the test's own transaction."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from django.test import Client

from dashboard.models import ApiToken


@dataclass
class ApiClient:
    """A client with one token."""

    text: str
    token: ApiToken
    client: Client = field(default_factory=Client)

    def get(self, path: str, **query: Any) -> Any:
        return self.client.get(f"/api/v1{path}", query, headers=self.headers)

    def post(self, path: str, body: Any = None) -> Any:
        return self.send("POST", path, body)

    def patch(self, path: str, body: Any) -> Any:
        return self.send("PATCH", path, body)

    def delete(self, path: str) -> Any:
        return self.send("DELETE", path)

    def send(self, method: str, path: str, body: Any = None, **environ: Any) -> Any:
        return self.client.generic(
            method,
            f"/api/v1{path}",
            data=b"" if body is None else _encode(body),
            content_type="application/json",
            headers=self.headers,
            **environ,
        )

    @property
    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.text}"}


def _encode(body: Any) -> bytes:
    return body if isinstance(body, bytes) else json.dumps(body).encode()


def read_error(answer: Any) -> dict[str, Any]:
    """The error of a response, which must be problem+json."""
    assert answer.headers["Content-Type"] == "application/problem+json"
    body: dict[str, Any] = answer.json()
    assert set(body) - {"errors"} == {"type", "title", "status", "detail", "code"}
    assert body["status"] == answer.status_code
    assert body["type"] == f"/api/v1/problems/{body['code']}"
    return body
