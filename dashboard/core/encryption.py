"""Encryption of stored secrets: AES-256-GCM, each bound to the row it belongs to."""

from __future__ import annotations

import hashlib
import os

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.utils.translation import gettext as _

from dashboard.core.errors import Refused
from probes.secret import Secret

_VERSION = b"\x01"
_ID, _NONCE = 8, 12


def encrypt_secret(key: Secret, bound_to: bytes) -> bytes:
    """The secret, encrypted with the first of CREDENTIAL_KEYS and bound to `bound_to`."""
    if not settings.CREDENTIAL_KEYS:
        raise ImproperlyConfigured("Set CREDENTIAL_KEYS, or CREDENTIAL_KEYS_FILE, to store keys.")
    master, nonce = settings.CREDENTIAL_KEYS[0], os.urandom(_NONCE)
    box = AESGCM(master).encrypt(nonce, key.reveal().encode(), bound_to)
    return _VERSION + _key_id(master) + nonce + box


def decrypt_secret(sealed: bytes, bound_to: bytes) -> Secret:
    """The secret; refuses if its key is gone or the binding differs."""
    key_id, rest = sealed[1 : 1 + _ID], sealed[1 + _ID :]
    master = next((key for key in settings.CREDENTIAL_KEYS if _key_id(key) == key_id), None)
    if master is None or sealed[:1] != _VERSION:
        raise Refused(_("The key that sealed this credential is gone; enter the credential again."))
    try:
        return Secret(AESGCM(master).decrypt(rest[:_NONCE], rest[_NONCE:], bound_to).decode())
    except InvalidTag as exc:
        raise Refused(_("The stored credential does not open; enter it again.")) from exc


def _key_id(master: bytes) -> bytes:
    return hashlib.sha256(b"toolgauge credential key" + master).digest()[:_ID]
