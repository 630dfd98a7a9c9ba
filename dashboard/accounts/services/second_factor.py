"""Setting up, checking and removing second factors. The rows are allauth's."""

from __future__ import annotations

from typing import Any

from allauth.mfa.models import Authenticator
from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.utils.translation import gettext as _

from dashboard.accounts import one_time_codes, second_factor
from dashboard.audit import services as audit
from dashboard.core import account_requirements
from dashboard.core.errors import Refused
from dashboard.models.audit import Action

_TOTP, _PASSKEY = Authenticator.Type.TOTP, Authenticator.Type.WEBAUTHN
_CODES = Authenticator.Type.RECOVERY_CODES


def add_app(person: User, *, secret: str, code: str) -> list[str]:
    """Add an authenticator app. Returns new recovery codes if this is the first factor.

    Refuses a wrong code: an app that was not set up right would lock its owner out.
    """
    step = one_time_codes.matching_step(secret, code)
    if step is None:
        raise Refused(_("This is not the code that the app should show now. Look at it again."))
    try:
        with transaction.atomic():
            # `last` uses the code up: the one that set the app up cannot sign in as well.
            data = {"secret": second_factor.seal(secret), "last": step}
            Authenticator.objects.create(user=person, type=_TOTP, data=data)
            return _record_added_factor(person, "app")
    except IntegrityError as exc:
        raise Refused(_("There is already an app. Remove it first.")) from exc


@transaction.atomic
def add_passkey(person: User, *, name: str, credential: dict[str, Any]) -> list[str]:
    """Add a passkey whose credential was verified. Returns codes as `add_app` does."""
    data = {"name": name, "credential": credential}
    Authenticator.objects.create(user=person, type=_PASSKEY, data=data)
    return _record_added_factor(person, f"passkey {name}")


@transaction.atomic
def remove_factor(person: User, factor: Authenticator) -> None:
    """Remove a factor; removing the last one removes the recovery codes too."""
    label = _factor_label(factor)
    factor.delete()
    if not account_requirements.has_second_factor(person):
        Authenticator.objects.filter(user=person, type=_CODES).delete()
    _record(person, before={"removed": label})


@transaction.atomic
def renew_recovery_codes(person: User) -> list[str]:
    """Replace the recovery codes; the old ones no longer work."""
    if not account_requirements.has_second_factor(person):
        raise Refused(_("Recovery codes stand in for a lost second factor: set one up first."))
    codes = _create_recovery_codes(person)
    _record(person, after={"recovery codes": "new"})
    return codes


@transaction.atomic
def reset_factors(person: User) -> bool:
    """Remove all second factors of a person who lost theirs. False if there were none."""
    labels = [_factor_label(factor) for factor in account_requirements.find_factors(person)]
    Authenticator.objects.filter(user=person).delete()
    if labels:
        _record(person, before={"removed": labels})
    return bool(labels)


@transaction.atomic
def check_code(person: User, code: str) -> bool:
    """Check an app's code or a recovery code. Each works once."""
    code = code.replace(" ", "")
    for factor in Authenticator.objects.select_for_update().filter(user=person).order_by("pk"):
        if factor.type == _TOTP and _use_app_code(factor, code):
            return True
        if factor.type == _CODES and _use_recovery_code(factor, code):
            _record(person, after={"recovery code": "used"})
            return True
    return False


def count_recovery_codes(person: User) -> int:
    factor = Authenticator.objects.filter(user=person, type=_CODES).first()
    return len(_unused_codes(factor)) if factor else 0


def _use_app_code(factor: Authenticator, code: str) -> bool:
    """Accept a current code that is later than the last one used, so that none can be replayed."""
    secret, last = second_factor.unseal(factor.data["secret"]), factor.data.get("last", 0)
    step = one_time_codes.matching_step(secret, code, after=last)
    if step is None:
        return False
    factor.data["last"] = step
    factor.save(update_fields=["data"])
    factor.record_usage()
    return True


def _use_recovery_code(factor: Authenticator, code: str) -> bool:
    """Accept an unused recovery code and mark it as used."""
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


def _record_added_factor(person: User, label: str) -> list[str]:
    _record(person, after={"added": label})
    has_codes = Authenticator.objects.filter(user=person, type=_CODES).exists()
    return [] if has_codes else _create_recovery_codes(person)


def _create_recovery_codes(person: User) -> list[str]:
    Authenticator.objects.filter(user=person, type=_CODES).delete()
    seed = one_time_codes.new_recovery_seed()
    data = {"seed": second_factor.seal(seed), "used_mask": 0}
    Authenticator.objects.create(user=person, type=_CODES, data=data)
    return one_time_codes.recovery_codes(seed)


def _factor_label(factor: Authenticator) -> str:
    if factor.type == _PASSKEY:
        return f"passkey {factor.data.get('name', '')}"
    return "app"


def _record(person: User, **changes: Any) -> None:
    audit.record(Action.SECOND_FACTOR_CHANGED, subject=f"person {person.get_username()}", **changes)
