"""Everything a page does that it should not."""

from __future__ import annotations

from urllib.parse import urlsplit

from playwright.sync_api import ConsoleMessage, Page, Request, Response

LOOPBACK = {"127.0.0.1", "localhost"}
# Typed console levels that a person would have to look at. A CSP violation is an error.
LOUD = {"error", "warning", "assert"}


class Watch:
    """Listens to a page and keeps what went wrong."""

    def __init__(self, page: Page) -> None:
        self.troubles: list[str] = []
        page.on("console", self._console)
        page.on("pageerror", lambda error: self.troubles.append(f"uncaught: {error}"))
        page.on("request", self._request)
        page.on("requestfailed", self._failed)
        page.on("response", self._response)
        page.on("dialog", lambda dialog: self.troubles.append(f"dialog: {dialog.message}"))

    def _console(self, message: ConsoleMessage) -> None:
        if message.type in LOUD:
            self.troubles.append(f"console {message.type}: {message.text}")

    def _request(self, request: Request) -> None:
        parts = urlsplit(request.url)
        if parts.scheme not in {"data", "blob"} and parts.hostname not in LOOPBACK:
            self.troubles.append(f"request left this machine: {request.url}")

    def _failed(self, request: Request) -> None:
        # A poll that was on its way when the person moved on is not a fault.
        if request.failure != "net::ERR_ABORTED":
            self.troubles.append(f"request failed: {request.url} {request.failure}")

    def _response(self, response: Response) -> None:
        if response.status >= 400:
            self.troubles.append(f"answer {response.status}: {response.url}")
