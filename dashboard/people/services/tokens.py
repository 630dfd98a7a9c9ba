"""API tokens: issuing and revoking them."""

from __future__ import annotations

import secrets
import string
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.db.models.functions import Now
from django.utils.translation import gettext as _

from dashboard.api.token_check import token_digest
from dashboard.audit import services as audit
from dashboard.core import token_rights
from dashboard.core.errors import Refused
from dashboard.models import ApiToken, Team
from dashboard.models.audit import Action
from dashboard.models.people import Scope

_ALPHABET = string.ascii_lowercase + string.digits


@dataclass(frozen=True, slots=True)
class IssuedToken:
    """A new token; its text is stored nowhere else."""

    token: ApiToken
    text: str


def issue_token(
    *,
    name: str,
    scopes: Sequence[str],
    by: User | None,
    lasts: timedelta | None = None,
    team: Team | None = None,
) -> IssuedToken:
    """Create a token with these scopes, within the rights of the person who creates it.

    Without `lasts` it never expires; without `team` it is valid for all endpoints.
    """
    _check_scopes(scopes, by, team)
    text = _generate_text()
    try:
        with transaction.atomic():
            token = ApiToken.objects.create(
                prefix=_parse_prefix(text),
                digest=token_digest(text),
                name=name,
                scopes=[scope for scope in Scope.values if scope in scopes],
                created_by=by,
                team=team,
                expires_at=Now() + lasts if lasts else None,
            )
            token.refresh_from_db()
            audit.record(Action.TOKEN_ISSUED, subject=_subject(token), after=_token_json(token))
    except IntegrityError as exc:
        if "prefix" not in str(exc):
            raise
        # One chance in 10^12 per existing token.
        raise Refused(_("The prefix was drawn before; make the token again.")) from exc
    return IssuedToken(token, text)


def _check_scopes(scopes: Sequence[str], by: User | None, team: Team | None) -> None:
    if not scopes or set(scopes) - set(Scope.values):
        raise Refused(
            _("A token needs scopes out of {scopes}.").format(scopes=", ".join(Scope.values))
        )
    missing = set(scopes) - set(token_rights.offered_scopes(by, team.pk if team else None))
    if not missing:
        return
    names = ", ".join(scope for scope in Scope.values if scope in missing)
    if by is None:
        raise Refused(
            _("The scope {scopes} needs a person: say whose token it is.").format(scopes=names)
        )
    raise Refused(
        _("{name} may not do that, so no token of theirs may: {scopes}.").format(
            name=by.get_username(), scopes=names
        )
    )


@transaction.atomic
def revoke_token(token: ApiToken) -> bool:
    """Revoke a token permanently; False if it was revoked already."""
    if not ApiToken.objects.filter(pk=token.pk, revoked_at=None).update(revoked_at=Now()):
        return False
    audit.record(Action.TOKEN_REVOKED, subject=_subject(token), before=_token_json(token))
    return True


def _subject(token: ApiToken) -> str:
    return f"token {token.prefix}"


def _token_json(token: ApiToken) -> dict[str, Any]:
    """The part of a token that the audit log keeps: nothing secret."""
    return {
        "name": token.name,
        "scopes": token.scopes,
        "person": token.created_by.get_username() if token.created_by else None,
        "team": token.team.name if token.team else None,
        "expires_at": token.expires_at,
    }


def _generate_text() -> str:
    prefix = "".join(secrets.choice(_ALPHABET) for _ in range(8))
    return f"tg_{prefix}_{secrets.token_urlsafe(32)}"


def _parse_prefix(text: str) -> str:
    return text[3:11]
