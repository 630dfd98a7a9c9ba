"""Codes of an authenticator app (RFC 6238) and recovery codes, computed from their secrets."""

from __future__ import annotations

import base64
import hmac
import secrets
import string
import time
from urllib.parse import quote, urlencode

from cryptography.hazmat.primitives.hashes import SHA1
from cryptography.hazmat.primitives.twofactor.hotp import HOTP

# The defaults of authenticator apps.
STEP_SECONDS, APP_DIGITS = 30, 6
# Clocks may differ by a step.
TOLERATED_STEPS = 1
RECOVERY_CODES, RECOVERY_DIGITS = 10, 8

_IGNORED = str.maketrans("", "", string.punctuation + string.whitespace)


def new_app_secret() -> str:
    return base64.b32encode(secrets.token_bytes(20)).decode()


def app_code(secret: str, step: int) -> str:
    """The code that the app shows in that step since 1970."""
    key = base64.b32decode(secret, casefold=True)
    return HOTP(key, APP_DIGITS, SHA1()).generate(step).decode()  # noqa: S303 -- apps know no other


def matching_step(secret: str, code: str, *, after: int = 0) -> int | None:
    """The step around now, later than `after`, that has this code."""
    now = int(time.time()) // STEP_SECONDS
    for step in range(now - TOLERATED_STEPS, now + TOLERATED_STEPS + 1):
        if step > after and is_same_code(code, app_code(secret, step)):
            return step
    return None


def app_address(secret: str, *, issuer: str, account: str) -> str:
    """The otpauth URL that an app reads from the QR code."""
    parameters = urlencode({"secret": secret, "issuer": issuer}, quote_via=quote)
    return f"otpauth://totp/{quote(account)}?{parameters}"


def new_recovery_seed() -> str:
    return secrets.token_hex(40)


def recovery_codes(seed: str) -> list[str]:
    """All codes of a seed, always in the same order; stored seeds depend on this computation."""
    digest = hmac.new(seed.encode("ascii"), digestmod="sha1")
    codes = []
    for index in range(RECOVERY_CODES):
        digest.update(f"{index:3},".encode())
        number = int.from_bytes(digest.digest()[: RECOVERY_DIGITS // 2], "big")
        codes.append(str(number % 10**RECOVERY_DIGITS).zfill(RECOVERY_DIGITS))
    return codes


def is_same_code(entered: str, code: str) -> bool:
    """Compare two codes; spaces and punctuation do not count."""
    return hmac.compare_digest(entered.translate(_IGNORED).encode(), code.encode())
