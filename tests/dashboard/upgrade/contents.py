"""Known contents of the dumps. Their keys are used only in the dumps."""

from __future__ import annotations

from pathlib import Path

from cryptography.hazmat.primitives.asymmetric import ec

from tests.security.soft_passkey import SoftPasskey

FOLDER = Path(__file__).resolve().parent
CREDENTIAL_KEY = b"the key of the dumps for tests.."
ENDPOINT_KEY = "sim-key-0123456789"


def passkey() -> SoftPasskey:
    """The same passkey on every machine."""
    key = SoftPasskey()
    key.key = ec.derive_private_key(271828, ec.SECP256R1())
    key.id = b"passkey of dumps"
    return key
