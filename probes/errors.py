"""Everything that can stop us from looking at a model's answer.

ProbesError                 retryable = False, .received (what had arrived, if anything)
├── TargetError             described wrongly: bad URL, missing model, unusable key
├── TransportError          no complete answer, retryable = True
│   ├── ConnectFailed       .why: name | refused | tls | route
│   ├── TimedOut            .phase: connect | first_byte | between_bytes | total
│   └── TooLarge            more bytes than the limit, retryable = False
├── ProviderError           an HTTP answer that is no reply: .status .message .request_id
│   ├── AuthRejected        401, 403
│   ├── NotFound            404, wrong model or path
│   ├── RateLimited         429, retryable = True, .retry_after
│   ├── Overloaded          5xx, retryable = True
│   │   └── StreamBroken    200, and the stream has no proper end
│   ├── Redirected          3xx, never followed
│   ├── NotJSON             200 with a web page, nothing, or noise
│   └── Refused             the request itself was refused: .kind says for what
├── WireError               the answer breaks the provider's own format: .at
└── HistoryError            the conversation cannot be sent: .findings

What a model does wrong is a `Finding`, never an exception.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from probes.findings import Finding, FindingKind
    from probes.http_messages import WireResponse


class Phase(StrEnum):
    """The phase whose time limit ran out."""

    CONNECT = "connect"
    FIRST_BYTE = "first_byte"
    BETWEEN_BYTES = "between_bytes"
    TOTAL = "total"


class ConnectFailureReason(StrEnum):
    """Why the connection failed."""

    NAME = "name"
    REFUSED = "refused"
    TLS = "tls"
    ROUTE = "route"


class ProbesError(Exception):
    """The base of the tree; its text is a sentence that a person can act on.

    With `facts`, the message has their names in braces, and `pattern` keeps it untranslated, so
    that a page can translate it.
    """

    retryable = False

    def __init__(
        self, message: str, *, received: WireResponse | None = None, **facts: str | int
    ) -> None:
        self.pattern, self.facts = message, facts
        self.message = message.format(**facts) if facts else message
        self.received = received
        super().__init__(self.message)


class TargetError(ProbesError):
    """The description of the endpoint is invalid."""


class TransportError(ProbesError):
    """No complete answer arrived."""

    retryable = True


class ConnectFailed(TransportError):
    """The connection failed; `why` is the reason."""

    def __init__(
        self,
        message: str,
        why: ConnectFailureReason = ConnectFailureReason.ROUTE,
        **facts: str | int,
    ) -> None:
        super().__init__(message, received=None, **facts)
        self.why = why


class TimedOut(TransportError):
    """A time limit ran out; `phase` says which."""

    def __init__(self, message: str, phase: Phase, *, received: WireResponse | None = None) -> None:
        super().__init__(message, received=received)
        self.phase = phase


class TooLarge(TransportError):
    """The answer exceeds the size limit."""

    retryable = False


class ProviderError(ProbesError):
    """An HTTP answer that is not a reply."""

    def __init__(
        self,
        status: int,
        message: str,
        *,
        request_id: str | None = None,
        received: WireResponse | None = None,
    ) -> None:
        super().__init__(message, received=received)
        self.status = status
        self.request_id = request_id


class AuthRejected(ProviderError):
    """401 or 403: the key is missing, wrong or not allowed."""


class NotFound(ProviderError):
    """404: the path or the model does not exist."""


class RateLimited(ProviderError):
    """The endpoint limits the rate; `retry_after` is in seconds."""

    retryable = True

    def __init__(
        self,
        status: int,
        message: str,
        *,
        retry_after: float | None = None,
        request_id: str | None = None,
        received: WireResponse | None = None,
    ) -> None:
        super().__init__(status, message, request_id=request_id, received=received)
        self.retry_after = retry_after


class Overloaded(ProviderError):
    """The endpoint failed on its own side and may recover."""

    retryable = True


class StreamBroken(Overloaded):
    """A stream that broke off, or that carried an error in place of the rest."""


class Redirected(ProviderError):
    """The endpoint redirects, which is never followed."""


class NotJSON(ProviderError):
    """A 200 without JSON: a web page, nothing, or noise."""


class Refused(ProviderError):
    """The endpoint refused the request; `kind` is the reason."""

    def __init__(
        self,
        status: int,
        message: str,
        kind: FindingKind,
        *,
        request_id: str | None = None,
        received: WireResponse | None = None,
    ) -> None:
        super().__init__(status, message, request_id=request_id, received=received)
        self.kind = kind


class WireError(ProbesError):
    """The answer breaks the provider's own format; `at` is a JSON path or a byte offset."""

    def __init__(self, message: str, at: str = "", *, received: WireResponse | None = None) -> None:
        super().__init__(message, received=received)
        self.at = at


class HistoryError(ProbesError):
    """The conversation cannot be sent: an unanswered call or an orphan result."""

    def __init__(self, message: str, findings: Sequence[Finding] = ()) -> None:
        super().__init__(message)
        self.findings = tuple(findings)
