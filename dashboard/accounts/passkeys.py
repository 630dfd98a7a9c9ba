"""Passkeys: the options that a browser gets, and the check of the credential that it sends."""

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

MAX_CREDENTIAL_BYTES = 20_000
# The parts of a response that are bytes, sent as base64.
BASE64_FIELDS = (
    "clientDataJSON",
    "attestationObject",
    "authenticatorData",
    "signature",
    "userHandle",
)
# The session key of the challenge that the next credential must answer.
STATE_KEY = "mfa.webauthn.state"


def are_supported(request: HttpRequest) -> bool:
    """Whether the request has a host name: browsers refuse to bind a passkey to an IP address."""
    host, _port = split_domain_port(request.get_host())
    try:
        ipaddress.ip_address(host.strip("[]"))
    except ValueError:
        return True
    return False


def authentication_options(request: HttpRequest, person: User | None) -> dict[str, Any]:
    """The options of navigator.credentials.get(); without a person, any passkey may sign in."""
    credentials = (
        [credential for _row, credential in _registered_passkeys(person)] if person else []
    )
    verification = (
        UserVerificationRequirement.PREFERRED if person else UserVerificationRequirement.REQUIRED
    )
    options, state = _server(request).authenticate_begin(
        credentials, user_verification=verification
    )
    request.session[STATE_KEY] = state
    return _as_json(options)


def registration_options(request: HttpRequest, person: User) -> dict[str, Any]:
    """The options of navigator.credentials.create()."""
    # Authenticators store the id and show the name.
    user_entity = PublicKeyCredentialUserEntity(
        id=int_to_base36(person.pk).encode(), name=person.username, display_name=person.username
    )
    options, state = _server(request).register_begin(
        user_entity,
        [credential for _row, credential in _registered_passkeys(person)],
        resident_key_requirement=ResidentKeyRequirement.REQUIRED,
        user_verification=UserVerificationRequirement.REQUIRED,
        extensions={"credProps": True},
    )
    request.session[STATE_KEY] = state
    return _as_json(options)


def claimed_owner(credential: dict[str, Any]) -> User | None:
    """The person whom the credential names. Not verified yet."""
    try:
        person_id = base36_to_int(websafe_decode(credential["response"]["userHandle"]).decode())
    except (ValueError, TypeError, KeyError):
        return None
    return User.objects.filter(pk=person_id).first()


def verify_credential(
    request: HttpRequest, person: User, credential: dict[str, Any]
) -> Authenticator | None:
    """The person's passkey that answered this session's challenge, or None."""
    passkeys = _registered_passkeys(person)
    try:
        verified = _server(request).authenticate_complete(
            request.session[STATE_KEY], [key for _row, key in passkeys], credential
        )
    except (ValueError, TypeError, KeyError):
        return None
    del request.session[STATE_KEY]
    passkey = next(row for row, key in passkeys if key.credential_id == verified.credential_id)
    passkey.record_usage()
    return passkey


def verify_registration(request: HttpRequest, credential: dict[str, Any]) -> bool:
    """Whether a new passkey answered this session's challenge and verified its user."""
    try:
        data = _server(request).register_complete(request.session[STATE_KEY], credential)
    except (ValueError, TypeError, KeyError):
        return False
    del request.session[STATE_KEY]
    return data.is_user_verified()


def read_credential(request: HttpRequest) -> dict[str, Any] | None:
    """The credential that the form carries, or None."""
    text = request.POST.get("credential", "")
    if not text or len(text) > MAX_CREDENTIAL_BYTES:
        return None
    try:
        credential = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return credential if isinstance(credential, dict) and _has_only_texts(credential) else None


def _has_only_texts(credential: dict[str, Any]) -> bool:
    # The library reads a number as a count of bytes, and would allocate that many.
    response = credential.get("response")
    parts = [credential.get(name) for name in ("id", "rawId")]
    if isinstance(response, dict):
        parts += [response.get(name) for name in BASE64_FIELDS]
    return all(isinstance(part, str) for part in parts if part is not None)


def _server(request: HttpRequest) -> Fido2Server:
    host = request.get_host().partition(":")[0]
    return Fido2Server(PublicKeyCredentialRpEntity(id=host, name="Toolgauge"))


def _registered_passkeys(person: User) -> list[tuple[Authenticator, AttestedCredentialData]]:
    """The person's passkeys, each with the public key from its registration."""
    rows = Authenticator.objects.filter(user=person, type=Authenticator.Type.WEBAUTHN)
    return [(row, _stored_credential(row)) for row in rows.order_by("pk")]


def _stored_credential(row: Authenticator) -> AttestedCredentialData:
    registration = RegistrationResponse.from_dict(row.data["credential"])
    credential = registration.response.attestation_object.auth_data.credential_data
    assert isinstance(credential, AttestedCredentialData)  # checked at registration
    return credential


def _as_json(options: Any) -> dict[str, Any]:
    """The options as plain JSON values."""
    plain: dict[str, Any] = json.loads(json.dumps(options, default=dict))
    return plain
