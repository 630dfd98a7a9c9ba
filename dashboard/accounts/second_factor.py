"""Second factors: how their secrets are stored, and what stays open without one."""

from __future__ import annotations

import base64

from dashboard.core import encryption
from probes.secret import Secret

# The views that stay open to a person who must set up a second factor first.
OPEN_WITHOUT_FACTOR = frozenset(
    {"security", "security-app", "security-passkey-new", "security-codes", "confirm", "logout"}
    # A printed password is changed before that.
    | {"password"}
)
_BOUND_TO = b"second factor"


def seal(text: str) -> str:
    """Encrypt a secret of a second factor with CREDENTIAL_KEYS, as its row stores it."""
    return base64.b64encode(encryption.encrypt_secret(Secret(text), _BOUND_TO)).decode()


def unseal(stored: str) -> str:
    return encryption.decrypt_secret(base64.b64decode(stored), _BOUND_TO).reveal()
