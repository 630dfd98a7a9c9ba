"""Sealing and opening of endpoint keys: AES-256-GCM, bound to one endpoint and one origin."""

from __future__ import annotations

import hashlib
import os

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from dashboard.errors import Refused
from dashboard.models import Credential, Endpoint
from probes.secret import Secret
from probes.target import origin

_VERSION = b"\x01"
_ID, _NONCE = 8, 12


def store(endpoint: Endpoint, key: Secret) -> None:
    """Seal the key for the endpoint's present origin; replaces what was stored."""
    place = origin(endpoint.base_url)
    sealed = _seal(key, _bound_to(endpoint.pk, place))
    Credential.objects.update_or_create(
        endpoint=endpoint, defaults={"origin": place, "sealed": sealed, "hint": key.hint}
    )


def forget(endpoint: Endpoint) -> None:
    Credential.objects.filter(endpoint=endpoint).delete()


def is_stored(endpoint: Endpoint) -> bool:
    return Credential.objects.filter(endpoint=endpoint).exists()


def reveal(endpoint: Endpoint) -> Secret | None:
    """The endpoint's key, or None where none is stored; refuses what does not fit its origin."""
    credential = Credential.objects.filter(endpoint=endpoint).first()
    if credential is None:
        return None
    if credential.origin != origin(endpoint.base_url):
        raise Refused("The stored key belongs to another host; enter the key again.")
    return _open(bytes(credential.sealed), _bound_to(endpoint.pk, credential.origin))


def _seal(key: Secret, bound_to: bytes) -> bytes:
    if not settings.CREDENTIAL_KEYS:
        raise ImproperlyConfigured("Set CREDENTIAL_KEYS, or CREDENTIAL_KEYS_FILE, to store keys.")
    master, nonce = settings.CREDENTIAL_KEYS[0], os.urandom(_NONCE)
    box = AESGCM(master).encrypt(nonce, key.reveal().encode(), bound_to)
    return _VERSION + _key_id(master) + nonce + box


def _open(sealed: bytes, bound_to: bytes) -> Secret:
    key_id, rest = sealed[1 : 1 + _ID], sealed[1 + _ID :]
    master = next((key for key in settings.CREDENTIAL_KEYS if _key_id(key) == key_id), None)
    if master is None or sealed[:1] != _VERSION:
        raise Refused("The key that sealed this credential is gone; enter the credential again.")
    try:
        return Secret(AESGCM(master).decrypt(rest[:_NONCE], rest[_NONCE:], bound_to).decode())
    except InvalidTag as exc:
        raise Refused("The stored credential does not open; enter it again.") from exc


def _key_id(master: bytes) -> bytes:
    return hashlib.sha256(b"toolgauge credential key" + master).digest()[:_ID]


def _bound_to(endpoint_id: int, place: str) -> bytes:
    return f"{endpoint_id} {place}".encode()
