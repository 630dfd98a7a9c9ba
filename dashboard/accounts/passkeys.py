"""Passkeys in a request: what the browser is asked, and whether its answer is right."""

from __future__ import annotations

import ipaddress
import json
from typing import Any

from allauth.mfa.models import Authenticator
from allauth.mfa.webauthn.internal import auth
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.http import HttpRequest
from django.http.request import split_domain_port

MOST_BYTES = 20_000


def are_possible(request: HttpRequest) -> bool:
    """Browsers bind a passkey to a host name; they refuse to bind one to a bare address."""
    host, _port = split_domain_port(request.get_host())
    try:
        ipaddress.ip_address(host.strip("[]"))
    except ValueError:
        return True
    return False


def question(person: User | None) -> dict[str, Any]:
    """What navigator.credentials.get() is given; of nobody in particular to sign in with."""
    found: dict[str, Any] = auth.begin_authentication(person)
    return _plain(found)


def invitation(person: User) -> dict[str, Any]:
    """What navigator.credentials.create() is given."""
    found: dict[str, Any] = auth.begin_registration(person, passwordless=True)
    return _plain(found)


def claimed_by(answer: dict[str, Any]) -> User | None:
    """Whose passkey an answer says to be: to be believed only once it is verified."""
    try:
        found = auth.extract_user_from_response(answer)
    except (ValidationError, AttributeError):
        return None
    return found if isinstance(found, User) else None


def verify(person: User, answer: dict[str, Any]) -> Authenticator | None:
    """The passkey that answered the question of this session; None where it was none of theirs."""
    try:
        auth.parse_authentication_response(answer)
        found = auth.complete_authentication(person, answer)
    except (ValidationError, ValueError, TypeError, KeyError):
        return None
    assert isinstance(found, Authenticator)
    found.record_usage()
    return found


def accept(answer: dict[str, Any]) -> bool:
    """Whether a new passkey answered the invitation of this session, and knows its owner."""
    try:
        auth.parse_registration_response(answer)
        return bool(auth.complete_registration(answer).is_user_verified())
    except (ValidationError, ValueError, TypeError, KeyError):
        return False


def read(request: HttpRequest) -> dict[str, Any] | None:
    """The answer that a form carries."""
    text = request.POST.get("credential", "")
    if not text or len(text) > MOST_BYTES:
        return None
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _plain(found: dict[str, Any]) -> dict[str, Any]:
    """As JSON has it: the library's own types know how to become text."""
    plain: dict[str, Any] = json.loads(json.dumps(found, default=dict))
    return plain
