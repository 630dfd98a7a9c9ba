"""Passkeys in a request: what the browser is asked, and whether its answer is right."""

from __future__ import annotations

import ipaddress
import json
from typing import Any

from allauth.mfa.models import Authenticator
from django.contrib.auth.models import User
from django.http import HttpRequest
from django.http.request import split_domain_port
from django.utils.http import base36_to_int, int_to_base36
from fido2.server import Fido2Server
from fido2.utils import websafe_decode
from fido2.webauthn import (
    AttestedCredentialData,
    PublicKeyCredentialRpEntity,
    PublicKeyCredentialUserEntity,
    RegistrationResponse,
    ResidentKeyRequirement,
    UserVerificationRequirement,
)

MOST_BYTES = 20_000
# The parts of a response that are bytes, written as text.
ENCODED = ("clientDataJSON", "attestationObject", "authenticatorData", "signature", "userHandle")
# Where a session holds the challenge that the next answer must carry.
STATE = "mfa.webauthn.state"


def are_possible(request: HttpRequest) -> bool:
    """Browsers bind a passkey to a host name; they refuse to bind one to a bare address."""
    host, _port = split_domain_port(request.get_host())
    try:
        ipaddress.ip_address(host.strip("[]"))
    except ValueError:
        return True
    return False


def question(request: HttpRequest, person: User | None) -> dict[str, Any]:
    """What navigator.credentials.get() is given; of nobody in particular to sign in with."""
    known = [credential for _row, credential in _registered(person)] if person else []
    verification = (
        UserVerificationRequirement.PREFERRED if person else UserVerificationRequirement.REQUIRED
    )
    options, state = _server(request).authenticate_begin(known, user_verification=verification)
    request.session[STATE] = state
    return _plain(options)


def invitation(request: HttpRequest, person: User) -> dict[str, Any]:
    """What navigator.credentials.create() is given."""
    # Authenticators keep the number, and show the name.
    owner = PublicKeyCredentialUserEntity(
        id=int_to_base36(person.pk).encode(), name=person.username, display_name=person.username
    )
    options, state = _server(request).register_begin(
        owner,
        [credential for _row, credential in _registered(person)],
        resident_key_requirement=ResidentKeyRequirement.REQUIRED,
        user_verification=UserVerificationRequirement.REQUIRED,
        extensions={"credProps": True},
    )
    request.session[STATE] = state
    return _plain(options)


def claimed_by(answer: dict[str, Any]) -> User | None:
    """Whose passkey an answer says to be: to be believed only once it is verified."""
    try:
        number = base36_to_int(websafe_decode(answer["response"]["userHandle"]).decode())
    except (ValueError, TypeError, KeyError):
        return None
    return User.objects.filter(pk=number).first()


def verify(request: HttpRequest, person: User, answer: dict[str, Any]) -> Authenticator | None:
    """The passkey that answered the question of this session; None where it was none of theirs."""
    registered = _registered(person)
    try:
        found = _server(request).authenticate_complete(
            request.session[STATE], [credential for _row, credential in registered], answer
        )
    except (ValueError, TypeError, KeyError):
        return None
    del request.session[STATE]
    passkey = next(row for row, each in registered if each.credential_id == found.credential_id)
    passkey.record_usage()
    return passkey


def accept(request: HttpRequest, answer: dict[str, Any]) -> bool:
    """Whether a new passkey answered the invitation of this session, and knows its owner."""
    try:
        data = _server(request).register_complete(request.session[STATE], answer)
    except (ValueError, TypeError, KeyError):
        return False
    del request.session[STATE]
    return data.is_user_verified()


def read(request: HttpRequest) -> dict[str, Any] | None:
    """The answer that a form carries."""
    text = request.POST.get("credential", "")
    if not text or len(text) > MOST_BYTES:
        return None
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) and _is_text(found) else None


def _is_text(answer: dict[str, Any]) -> bool:
    """The library takes a number for a count of bytes, and would make room for so many."""
    response = answer.get("response")
    parts = [answer.get(name) for name in ("id", "rawId")]
    if isinstance(response, dict):
        parts += [response.get(name) for name in ENCODED]
    return all(isinstance(part, str) for part in parts if part is not None)


def _server(request: HttpRequest) -> Fido2Server:
    host = request.get_host().partition(":")[0]
    return Fido2Server(PublicKeyCredentialRpEntity(id=host, name="Toolgauge"))


def _registered(person: User) -> list[tuple[Authenticator, AttestedCredentialData]]:
    """Their passkeys, each with the public key that its first answer brought."""
    rows = Authenticator.objects.filter(user=person, type=Authenticator.Type.WEBAUTHN)
    return [(row, _credential(row)) for row in rows.order_by("pk")]


def _credential(row: Authenticator) -> AttestedCredentialData:
    answer = RegistrationResponse.from_dict(row.data["credential"])
    found = answer.response.attestation_object.auth_data.credential_data
    assert isinstance(found, AttestedCredentialData)  # it was checked when it was added
    return found


def _plain(options: Any) -> dict[str, Any]:
    """As JSON has it: the library's own types know how to become text."""
    plain: dict[str, Any] = json.loads(json.dumps(options, default=dict))
    return plain
