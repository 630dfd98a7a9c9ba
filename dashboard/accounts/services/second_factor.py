"""Setting up, checking and removing second factors. The rows and the arithmetic are allauth's."""

from __future__ import annotations

from typing import Any

from allauth.core.internal.cryptokit import compare_user_code
from allauth.mfa.models import Authenticator
from allauth.mfa.recovery_codes.internal.auth import RecoveryCodes
from allauth.mfa.totp.internal import auth as totp
from allauth.mfa.utils import decrypt
from allauth.mfa.webauthn.internal.auth import WebAuthn
from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.utils.translation import gettext as _

from dashboard.accounts import second_factor
from dashboard.audit import services as audit
from dashboard.core.errors import Refused
from dashboard.models.audit import Action

_TOTP, _CODES = Authenticator.Type.TOTP, Authenticator.Type.RECOVERY_CODES


def add_app(person: User, *, secret: str, code: str) -> list[str]:
    """Let an app's codes open the door. Returns new recovery codes where this is the first factor.

    Refuses a wrong code: an app that was not set up right would shut its owner out.
    """
    if not totp.validate_totp_code(secret, code):
        raise Refused(_("This is not the code that the app should show now. Look at it again."))
    try:
        with transaction.atomic():
            totp.TOTP.activate(person, secret)
            return _added(person, "app")
    except IntegrityError as exc:
        raise Refused(_("There is already an app. Remove it first.")) from exc


@transaction.atomic
def add_passkey(person: User, *, name: str, credential: dict[str, Any]) -> list[str]:
    """Let a passkey open the door, whose answer was verified."""
    WebAuthn.add(person, name, credential)
    return _added(person, f"passkey {name}")


@transaction.atomic
def remove(person: User, factor: Authenticator) -> None:
    """Take one away; with the last one go the recovery codes."""
    told = _told(factor)
    factor.delete()
    if not second_factor.has_any(person):
        Authenticator.objects.filter(user=person, type=_CODES).delete()
    _record(person, before={"removed": told})


@transaction.atomic
def new_codes(person: User) -> list[str]:
    """Recovery codes anew; those from before open nothing any more."""
    if not second_factor.has_any(person):
        raise Refused(_("Recovery codes stand in for a lost second factor: set one up first."))
    codes = _draw(person)
    _record(person, after={"recovery codes": "new"})
    return codes


@transaction.atomic
def reset(person: User) -> bool:
    """Take all second factors from somebody who lost theirs; they sign in by password alone."""
    found = [_told(each) for each in second_factor.of(person)]
    Authenticator.objects.filter(user=person).delete()
    if found:
        _record(person, before={"removed": found})
    return bool(found)


@transaction.atomic
def check_code(person: User, code: str) -> bool:
    """Whether an app's code or a recovery code is right. Each opens once."""
    code = code.replace(" ", "")
    for factor in Authenticator.objects.select_for_update().filter(user=person).order_by("pk"):
        if factor.type == _TOTP and _is_new(factor, code):
            return True
        if factor.type == _CODES and RecoveryCodes(factor).validate_code(code):
            _record(person, after={"recovery code": "used"})
            return True
    return False


def codes_left(person: User) -> int:
    found = Authenticator.objects.filter(user=person, type=_CODES).first()
    return len(RecoveryCodes(found).get_unused_codes()) if found else 0


def _is_new(factor: Authenticator, code: str) -> bool:
    """Right now, and later than the last one that was used: nobody can use it who overheard it."""
    secret, last = decrypt(factor.data["secret"]), factor.data.get("last", 0)
    for counter in totp.yield_hotp_counters_from_time():
        expected = totp.format_hotp_value(totp.hotp_value(secret, counter))
        if counter > last and compare_user_code(actual=code, expected=expected):
            factor.data["last"] = counter
            factor.save(update_fields=["data"])
            factor.record_usage()
            return True
    return False


def _added(person: User, told: str) -> list[str]:
    _record(person, after={"added": told})
    has_codes = Authenticator.objects.filter(user=person, type=_CODES).exists()
    return [] if has_codes else _draw(person)


def _draw(person: User) -> list[str]:
    Authenticator.objects.filter(user=person, type=_CODES).delete()
    codes: list[str] = RecoveryCodes.activate(person).get_unused_codes()
    return codes


def _told(factor: Authenticator) -> str:
    if factor.type == Authenticator.Type.WEBAUTHN:
        return f"passkey {factor.data.get('name', '')}"
    return "app"


def _record(person: User, **what: Any) -> None:
    audit.record(Action.SECOND_FACTOR_CHANGED, subject=f"person {person.get_username()}", **what)
