"""Setting up, checking and removing second factors. The rows are allauth's."""

from __future__ import annotations

from typing import Any

from allauth.mfa.models import Authenticator
from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.utils.translation import gettext as _

from dashboard.accounts import one_time_codes, second_factor
from dashboard.audit import services as audit
from dashboard.core.errors import Refused
from dashboard.models.audit import Action

_TOTP, _PASSKEY = Authenticator.Type.TOTP, Authenticator.Type.WEBAUTHN
_CODES = Authenticator.Type.RECOVERY_CODES


def add_app(person: User, *, secret: str, code: str) -> list[str]:
    """Let an app's codes open the door. Returns new recovery codes where this is the first factor.

    Refuses a wrong code: an app that was not set up right would shut its owner out.
    """
    if one_time_codes.matching_step(secret, code) is None:
        raise Refused(_("This is not the code that the app should show now. Look at it again."))
    try:
        with transaction.atomic():
            data = {"secret": second_factor.seal(secret)}
            Authenticator.objects.create(user=person, type=_TOTP, data=data)
            return _added(person, "app")
    except IntegrityError as exc:
        raise Refused(_("There is already an app. Remove it first.")) from exc


@transaction.atomic
def add_passkey(person: User, *, name: str, credential: dict[str, Any]) -> list[str]:
    """Let a passkey open the door, whose answer was verified."""
    data = {"name": name, "credential": credential}
    Authenticator.objects.create(user=person, type=_PASSKEY, data=data)
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
        if factor.type == _CODES and _is_unused(factor, code):
            _record(person, after={"recovery code": "used"})
            return True
    return False


def codes_left(person: User) -> int:
    found = Authenticator.objects.filter(user=person, type=_CODES).first()
    return len(_unused_codes(found)) if found else 0


def _is_new(factor: Authenticator, code: str) -> bool:
    """Right now, and later than the last one that was used: nobody can use it who overheard it."""
    secret, last = second_factor.unseal(factor.data["secret"]), factor.data.get("last", 0)
    step = one_time_codes.matching_step(secret, code, after=last)
    if step is None:
        return False
    factor.data["last"] = step
    factor.save(update_fields=["data"])
    factor.record_usage()
    return True


def _is_unused(factor: Authenticator, code: str) -> bool:
    """A recovery code that was not used before; it is used by this."""
    for index, expected in _unused_codes(factor):
        if one_time_codes.is_same_code(code, expected):
            factor.data["used_mask"] |= 1 << index
            factor.save(update_fields=["data"])
            return True
    return False


def _unused_codes(factor: Authenticator) -> list[tuple[int, str]]:
    codes = one_time_codes.recovery_codes(second_factor.unseal(factor.data["seed"]))
    used: int = factor.data["used_mask"]
    return [(index, code) for index, code in enumerate(codes) if not used >> index & 1]


def _added(person: User, told: str) -> list[str]:
    _record(person, after={"added": told})
    has_codes = Authenticator.objects.filter(user=person, type=_CODES).exists()
    return [] if has_codes else _draw(person)


def _draw(person: User) -> list[str]:
    Authenticator.objects.filter(user=person, type=_CODES).delete()
    seed = one_time_codes.new_recovery_seed()
    data = {"seed": second_factor.seal(seed), "used_mask": 0}
    Authenticator.objects.create(user=person, type=_CODES, data=data)
    return one_time_codes.recovery_codes(seed)


def _told(factor: Authenticator) -> str:
    if factor.type == _PASSKEY:
        return f"passkey {factor.data.get('name', '')}"
    return "app"


def _record(person: User, **what: Any) -> None:
    audit.record(Action.SECOND_FACTOR_CHANGED, subject=f"person {person.get_username()}", **what)
