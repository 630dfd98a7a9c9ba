"""Finding an API token by its text."""

from __future__ import annotations

import hashlib
import hmac
import re
from typing import Any

from django.db.models import Case, Value, When
from django.db.models.functions import Now

from dashboard.api.services import LAST_USE_IS_OLD, record_token_use
from dashboard.core.errors import Refused
from dashboard.models import ApiToken

_TOKEN = re.compile(r"tg_([a-z0-9]{8})_[A-Za-z0-9_-]{43}")


def find_token(text: str) -> ApiToken:
    """The token with that text; records its use.

    Refuses an unknown, revoked or expired token, and one whose owner may no longer sign in.
    """
    match = _TOKEN.fullmatch(text)
    row = _find_with_state(match[1]) if match else None
    if row is None or not hmac.compare_digest(bytes(row[0].digest), token_digest(text)):
        raise Refused("This API token is not known. Copy it again, or make a new one.")
    token, state = row
    if state in {"revoked", "expired"}:
        raise Refused(f"This API token is {state}. Make a new one under /settings/tokens/.")
    if token.created_by is not None and not token.created_by.is_active:
        raise Refused("Whoever made this API token may not sign in any more. Ask for a new one.")
    if state == "to note":
        record_token_use(token)
    return token


def token_digest(text: str) -> bytes:
    # Passwords need a slow, salted hash. A token is 256 random bits, which cannot be guessed from
    # a hash, and a slow hash would delay every request.
    return hashlib.sha256(text.encode()).digest()


# By the database's clock, so that all web processes agree on when a token expires.
_STATE = Case(
    When(revoked_at__isnull=False, then=Value("revoked")),
    When(expires_at__lte=Now(), then=Value("expired")),
    When(LAST_USE_IS_OLD, then=Value("to note")),
    default=Value("noted"),
)


def _find_with_state(prefix: str) -> tuple[ApiToken, str] | None:
    tokens: Any = ApiToken.objects.select_related("created_by", "team").annotate(state=_STATE)
    token = tokens.filter(prefix=prefix).first()
    return (token, token.state) if token else None
