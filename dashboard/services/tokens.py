"""API tokens: making one, knowing one again, taking one back."""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
import string
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.db.models import Case, Q, Value, When
from django.db.models.functions import Now
from django.utils.translation import gettext as _

from dashboard.errors import Refused
from dashboard.models import ApiToken
from dashboard.models.api_token import Scope

_ALPHABET = string.ascii_lowercase + string.digits
_TOKEN = re.compile(r"tg_([a-z0-9]{8})_[A-Za-z0-9_-]{43}")
_NOTE_USE_EVERY = timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class Issued:
    """A new token; its text exists only here and with whoever is told."""

    token: ApiToken
    text: str


def issue(
    *, name: str, scopes: Sequence[str], by: User | None, lasts: timedelta | None = None
) -> Issued:
    """Make a token that may do what the scopes say; it never expires unless told how long."""
    if not scopes or set(scopes) - set(Scope.values):
        raise Refused(
            _("A token needs scopes out of {scopes}.").format(scopes=", ".join(Scope.values))
        )
    text = _draw()
    try:
        with transaction.atomic():
            token = ApiToken.objects.create(
                prefix=_prefix(text),
                digest=_digest(text),
                name=name,
                scopes=[scope for scope in Scope.values if scope in scopes],
                created_by=by,
                expires_at=Now() + lasts if lasts else None,
            )
    except IntegrityError as exc:
        # One chance in 10^12 for each token that there is.
        raise Refused(_("The prefix was drawn before; make the token again.")) from exc
    token.refresh_from_db()
    return Issued(token, text)


def find(text: str) -> ApiToken:
    """The token of that text, with its use noted. Refuses what is unknown, revoked or expired."""
    matched = _TOKEN.fullmatch(text)
    row = _with_standing(matched[1]) if matched else None
    if row is None or not hmac.compare_digest(bytes(row[0].digest), _digest(text)):
        raise Refused("This API token is not known. Copy it again, or make a new one.")
    token, standing = row
    if standing in {"revoked", "expired"}:
        raise Refused(f"This API token is {standing}. Make a new one under /settings/tokens/.")
    if standing == "to note":
        _note_use(token)
    return token


def revoke(token: ApiToken) -> bool:
    """Take a token back for good; False where it was revoked already."""
    return bool(ApiToken.objects.filter(pk=token.pk, revoked_at=None).update(revoked_at=Now()))


def _draw() -> str:
    prefix = "".join(secrets.choice(_ALPHABET) for _ in range(8))
    return f"tg_{prefix}_{secrets.token_urlsafe(32)}"


def _prefix(text: str) -> str:
    return text[3:11]


def _digest(text: str) -> bytes:
    # A slow, salted hash protects what people choose. These are 256 random bits: nobody can guess
    # one from its hash, and a slow hash would only slow down every request.
    return hashlib.sha256(text.encode()).digest()


# By the database's clock, so that all web processes agree on when a token ends.
_STANDING = Case(
    When(revoked_at__isnull=False, then=Value("revoked")),
    When(expires_at__lte=Now(), then=Value("expired")),
    When(
        Q(last_used_at=None) | Q(last_used_at__lt=Now() - _NOTE_USE_EVERY),
        then=Value("to note"),
    ),
    default=Value("noted"),
)


def _with_standing(prefix: str) -> tuple[ApiToken, str] | None:
    tokens: Any = ApiToken.objects.select_related("created_by").annotate(standing=_STANDING)
    token = tokens.filter(prefix=prefix).first()
    return (token, token.standing) if token else None


def _note_use(token: ApiToken) -> None:
    # The condition again: of many requests in one moment, one writes.
    ApiToken.objects.filter(
        Q(last_used_at=None) | Q(last_used_at__lt=Now() - _NOTE_USE_EVERY), pk=token.pk
    ).update(last_used_at=Now())
