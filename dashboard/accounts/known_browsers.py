"""Browsers in which a person has signed in before, by a signed cookie.

It opens nothing: a known browser has a count of failures of its own, and a queue of its own before
the sign-in, so that strangers cannot lock a person out of the browsers that they use.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from datetime import timedelta

from django.conf import settings
from django.core import signing
from django.http import HttpRequest, HttpResponse
from django.utils.crypto import salted_hmac

_SALT = "dashboard.accounts.known_browsers"
_LIFETIME = timedelta(days=180)
# People who share a browser; the longest absent is forgotten.
_MAX_PEOPLE = 8


@dataclass(frozen=True, slots=True)
class KnownBrowser:
    id: str
    # Digests of the names that have signed in here, the last one first.
    people: tuple[str, ...] = ()


def find_browser(request: HttpRequest, key: str) -> str:
    """The id of the browser if the person with that throttle key has signed in there; else ""."""
    browser = read_cookie(request)
    return browser.id if browser and _digest(key) in browser.people else ""


def read_cookie(request: HttpRequest) -> KnownBrowser | None:
    """The browser that the cookie names; None without one, or if it is forged or too old."""
    text = request.COOKIES.get(settings.BROWSER_COOKIE_NAME, "")
    try:
        browser_id, people = signing.loads(text, salt=_SALT, max_age=_LIFETIME)
    except signing.BadSignature:
        return None
    return KnownBrowser(browser_id, tuple(people))


def remember_browser(request: HttpRequest, response: HttpResponse, key: str) -> None:
    """Let the response's cookie say that the person has signed in here."""
    browser = read_cookie(request) or KnownBrowser(secrets.token_hex(8))
    others = [person for person in browser.people if person != _digest(key)]
    people = [_digest(key), *others][:_MAX_PEOPLE]
    response.set_cookie(
        settings.BROWSER_COOKIE_NAME,
        signing.dumps([browser.id, people], salt=_SALT),
        max_age=_LIFETIME,
        secure=settings.SESSION_COOKIE_SECURE,
        httponly=True,
        samesite="Lax",
    )


def _digest(key: str) -> str:
    # Whoever reads the cookie does not learn the names.
    return salted_hmac(_SALT, key, algorithm="sha256").hexdigest()[:16]
