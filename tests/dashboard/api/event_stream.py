"""Server-sent events, read as they arrive."""

from __future__ import annotations

import json
from http.client import HTTPConnection, HTTPResponse
from typing import Any
from urllib.parse import urlsplit

from tests.dashboard.api.web_process import Site


class Stream:
    """One open response of server-sent events."""

    def __init__(self, site: Site, run_id: int, text: str) -> None:
        self._connection = HTTPConnection(urlsplit(site.url).netloc, timeout=60)
        headers = {"Authorization": f"Bearer {text}"}
        self._connection.request("GET", f"/api/v1/runs/{run_id}/events", headers=headers)
        self.answer: HTTPResponse = self._connection.getresponse()

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._connection.close()
        self.answer.close()

    def event(self) -> dict[str, Any] | None:
        """The next event's data; None at the end of the stream."""
        lines: list[str] = []
        while line := self.answer.readline().decode():
            if line == "\n":
                assert lines[0] == "event: progress\n"
                body: dict[str, Any] = json.loads(lines[1].removeprefix("data: "))
                return body
            lines.append(line)
        assert not lines
        return None
