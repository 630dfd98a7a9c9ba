"""Records everything that a page does and should not."""

from __future__ import annotations

from urllib.parse import urlsplit

from playwright.sync_api import ConsoleMessage, Page, Request, Response

LOOPBACK = {"127.0.0.1", "localhost"}
# Console levels that need attention. A CSP violation is an error.
PROBLEM_LEVELS = {"error", "warning", "assert"}


class Watch:
    """Listens to a page and records its problems."""

    def __init__(self, page: Page) -> None:
        self.problems: list[str] = []
        page.on("console", self._console)
        page.on("pageerror", lambda error: self.problems.append(f"uncaught: {error}"))
        page.on("request", self._request)
        page.on("requestfailed", self._failed)
        page.on("response", self._response)
        page.on("dialog", lambda dialog: self.problems.append(f"dialog: {dialog.message}"))

    def _console(self, message: ConsoleMessage) -> None:
        if message.type in PROBLEM_LEVELS:
            self.problems.append(f"console {message.type}: {message.text}")

    def _request(self, request: Request) -> None:
        parts = urlsplit(request.url)
        if parts.scheme not in {"data", "blob"} and parts.hostname not in LOOPBACK:
            self.problems.append(f"request left this machine: {request.url}")

    def _failed(self, request: Request) -> None:
        # A poll in flight when the page is left is not a problem.
        if request.failure != "net::ERR_ABORTED":
            self.problems.append(f"request failed: {request.url} {request.failure}")

    def _response(self, response: Response) -> None:
        if response.status >= 400:
            self.problems.append(f"answer {response.status}: {response.url}")
