"""Validates the URL of a channel and hides its secret parts."""

from __future__ import annotations

from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

from django.utils.translation import gettext

from dashboard.core import safe_text
from dashboard.core.errors import Refused
from dashboard.models import Channel
from dashboard.notifications.senders.apprise_services import SERVICES
from probes.errors import TargetError
from probes.redaction import MARK
from probes.target import MAX_URL_LENGTH, check_base_url

# Options that make a service read a file or contact another receiver.
_FORBIDDEN = frozenset({"attach", "pgp", "pgpprv", "pgppub", "redirect", "tag", "template", "wkd"})
_MIN_SECRET_LENGTH = 4
MAX_ERROR_LENGTH = 500


def check_channel_url(kind: str, text: str) -> str:
    """The stripped URL. Refuses an invalid one."""
    text = text.strip()
    if not text or len(text) > MAX_URL_LENGTH:
        message = gettext("The URL must have between 1 and {count} characters.")
        raise Refused(message.format(count=MAX_URL_LENGTH))
    if any(char.isspace() or not char.isprintable() for char in text):
        raise Refused(gettext("The URL contains spaces or control characters."))
    try:
        parts = urlsplit(text)
        _ = parts.port
    except ValueError as exc:
        raise Refused(gettext("The host or port of the URL is not valid.")) from exc
    if kind == Channel.Kind.WEBHOOK:
        _check_webhook(parts)
    else:
        _check_apprise(parts)
    return text


def url_hint(url: str) -> str:
    """Scheme and host, or only the scheme if the host is a token."""
    parts = urlsplit(url)
    if _shows_host(parts.scheme):
        return f"{parts.scheme}://{parts.hostname or '…'}"[:300]
    return f"{parts.scheme}://…"


def url_secrets(url: str) -> list[str]:
    """The secret parts of the URL, the longest first."""
    parts = urlsplit(url)
    login, _, host = parts.netloc.rpartition("@")
    secrets = {url, parts.path, parts.query, login, *login.split(":"), *parts.path.split("/")}
    secrets |= {value for _, value in parse_qsl(parts.query)}
    if not _shows_host(parts.scheme):
        # The host is a token, possibly in upper case.
        secrets |= {host, host.lower()}
    secrets |= {unquote(part) for part in secrets}
    return sorted((part for part in secrets if len(part) >= _MIN_SECRET_LENGTH), key=len)[::-1]


def redact_url_secrets(text: str, url: str) -> str:
    """An error message in one line, without the secret parts of the URL."""
    for secret in url_secrets(url):
        text = text.replace(secret, MARK)
    return safe_text.visible(" ".join(text.split()))[:MAX_ERROR_LENGTH]


def _check_webhook(parts: SplitResult) -> None:
    if parts.scheme not in {"http", "https"}:
        raise Refused(gettext("The URL of a webhook begins with https://."))
    if "@" in parts.netloc:
        raise Refused(
            gettext("The URL of a webhook has no user name or password; messages are signed.")
        )
    if parts.fragment:
        raise Refused(gettext("The URL of a webhook has no fragment (#)."))
    try:
        check_base_url(f"{parts.scheme}://{parts.netloc}")
    except TargetError as exc:
        raise Refused(gettext("The host or port of the URL is not valid.")) from exc


def _check_apprise(parts: SplitResult) -> None:
    if parts.scheme not in SERVICES:
        text = gettext("Apprise URLs here begin with one of {schemes}, then ://.")
        raise Refused(text.format(schemes=", ".join(SERVICES)))
    options = {name.lower().lstrip("+-:") for name, _ in parse_qsl(parts.query, True)}
    if forbidden := sorted(options & _FORBIDDEN):
        text = gettext("The option {option} of the URL is not allowed here.")
        raise Refused(text.format(option=repr(forbidden[0])))


def _shows_host(scheme: str) -> bool:
    return scheme in {"http", "https"} or SERVICES[scheme].shows_host
