"""Why the gateway itself does not answer a request, in words that a person can act on."""

from __future__ import annotations


class Refusal(Exception):
    """Ends a request before anything was sent to the client.

    `code` counts refusals in telemetry. Clients repeat a 400 or a 413 in ever new ways, so the
    gateway's own refusals are 403 and say that a retry is useless; those that pass are 429 or 503
    with the time to wait.
    """

    def __init__(
        self, status: int, message: str, code: str, *, retry_after_s: float | None = None
    ) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.code = code
        self.retry_after_s = retry_after_s

    def headers(self) -> dict[str, str]:
        if self.retry_after_s is None:
            return {"x-should-retry": "false"}
        return {"retry-after": str(max(1, round(self.retry_after_s + 0.5)))}
