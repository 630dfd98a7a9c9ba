"""The kinds of API errors by code: what each means and what to do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

PROBLEMS_PATH = "/api/v1/problems/"


@dataclass(frozen=True, slots=True)
class Kind:
    status: int
    title: str
    advice: str


KINDS: Mapping[str, Kind] = MappingProxyType(
    {
        "malformed": Kind(
            400,
            "The request could not be read",
            "The body is no JSON, or a header is not as it must be; `detail` says where.",
        ),
        "unauthorized": Kind(
            401,
            "A token is needed",
            "No token was sent, or one that is unknown, revoked, expired, or whose maker may not "
            "sign in any more. Make one under /settings/tokens/.",
        ),
        "forbidden": Kind(
            403,
            "This may not be done",
            "The token has not the scope, or whoever made it has not the right; `detail` names it.",
        ),
        "password_change_required": Kind(
            403,
            "The printed password must be changed first",
            "Sign in, change the password under /settings/password/, then send the request again.",
        ),
        "second_factor_required": Kind(
            403,
            "A second factor must be set up first",
            "REQUIRE_SECOND_FACTOR names a role of yours. Set up an app or a passkey under "
            "/settings/security/, then send the request again.",
        ),
        "not_found": Kind(
            404,
            "There is no such thing",
            "Nothing has this address, or it belongs to a team whose endpoints you may not see.",
        ),
        "method_not_allowed": Kind(
            405,
            "This method is not possible here",
            "The header Allow names those that are.",
        ),
        "conflict": Kind(
            409,
            "It cannot be done as things are",
            "Somebody else was faster, it is too late, or a rule speaks against it; read the thing "
            "again and decide anew.",
        ),
        "batch_reused": Kind(
            409,
            "The batch id belongs to other events",
            "A batch with this id was stored before, and its events differ; nothing was stored "
            "now. Draw a new batch_id for each batch, and repeat it only with the same events.",
        ),
        "in_progress": Kind(
            409,
            "The same request is under way",
            "Another request with this Idempotency-Key has not ended. Send it again a little later "
            "to get its answer.",
        ),
        "too_large": Kind(
            413, "The body is too large", "Send less at once; `detail` names the limit."
        ),
        "invalid": Kind(
            422,
            "Something in the request needs mending",
            "`errors` names each field and what to do.",
        ),
        "key_reused": Kind(
            422,
            "The Idempotency-Key belongs to another request",
            "It was sent before with another method, address or body. Draw a new key for each "
            "request, and use it again only to repeat that very request.",
        ),
        "rate_limited": Kind(
            429,
            "Too many requests",
            "Wait as many seconds as Retry-After says. The header RateLimit tells what is left.",
        ),
        "internal": Kind(
            500,
            "This went wrong on our side",
            "The server's log has it by the X-Request-ID of the answer.",
        ),
        "unavailable": Kind(503, "Not now", "Come back after as many seconds as Retry-After says."),
    }
)
# The code of a status, unless the error has a more specific one.
CODES = {
    400: "malformed",
    401: "unauthorized",
    403: "forbidden",
    404: "not_found",
    405: "method_not_allowed",
    409: "conflict",
    413: "too_large",
    422: "invalid",
    429: "rate_limited",
    500: "internal",
    503: "unavailable",
}
