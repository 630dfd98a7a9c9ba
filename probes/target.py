from __future__ import annotations

import hashlib
import ipaddress
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import SplitResult, urlsplit

import idna

from probes.dialects import Dialect, at_base_url, check_dialect, dialect_for
from probes.errors import TargetError
from probes.messages import JSON
from probes.providers import Provider
from probes.secret import Secret

__all__ = [
    "Limits",
    "ProfileKey",
    "Provider",
    "Target",
    "check_base_url",
    "check_key",
    "check_options",
    "check_template_hash",
    "origin",
]

MAX_URL_LENGTH = 2048
# Fields that a probe sets itself, in all wire formats.
RESERVED_OPTIONS = frozenset({"model", "messages", "input", "contents", "tools", "stream"})
_DEFAULT_PORTS = {"http": 80, "https": 443}
_HASH = re.compile(r"[0-9a-f]{64}")
_HOST_CHARACTERS = frozenset("abcdefghijklmnopqrstuvwxyz0123456789-_.")


@dataclass(frozen=True, slots=True)
class ProfileKey:
    """The key of a profile; any change of it opens a new profile."""

    provider: str
    model: str
    endpoint: str
    chat_template_hash: str = ""

    def digest(self) -> bytes:
        """SHA-256 over the four fields, each prefixed by its length."""
        digest = hashlib.sha256()
        for text in (self.provider, self.model, self.endpoint, self.chat_template_hash):
            data = text.encode("utf-8")
            digest.update(len(data).to_bytes(4, "big") + data)
        return digest.digest()

    def as_json(self) -> dict[str, JSON]:
        return {
            "provider": str(self.provider),
            "model": self.model,
            "endpoint": self.endpoint,
            "chat_template_hash": self.chat_template_hash,
        }


@dataclass(frozen=True, slots=True)
class Limits:
    """Time and size limits of one answer."""

    connect_s: float = 10
    # An unstreamed answer sends its first byte only when it is complete.
    first_byte_s: float = 120
    idle_s: float = 60
    total_s: float = 180
    attempt_s: float = 600  # waiting time over all exchanges of an attempt
    # A probe asks for 4,096 tokens: 64 KB of text, and up to 1 KB around each token of a stream.
    max_bytes: int = 1024 * 1024
    max_stream_bytes: int = 4 * 1024 * 1024
    max_header_bytes: int = 32 * 1024
    # Of all answers of one transport that are being read at the same time.
    max_bytes_at_once: int = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Target:
    """An endpoint to talk to, validated."""

    provider: Provider
    base_url: str
    model: str
    key: Secret | None = None
    options: Mapping[str, JSON] = field(default_factory=dict)
    max_concurrency: int = 4
    limits: Limits = field(default_factory=Limits)
    dialect: str = ""  # the name of a dialect; empty: the provider's own
    chat_template_hash: str = ""  # as an operator declares it, for engines that do not show it

    def __post_init__(self) -> None:
        object.__setattr__(self, "provider", _provider(self.provider))
        object.__setattr__(self, "base_url", check_base_url(self.base_url))
        check_options(self.options)
        check_dialect(self.provider, self.dialect)
        object.__setattr__(self, "chat_template_hash", check_template_hash(self.chat_template_hash))
        if not self.model.strip():
            raise TargetError("The model name is missing.")
        if self.max_concurrency < 1:
            raise TargetError("The number of concurrent requests must be at least 1.")

    def profile_key(self, measured_hash: str = "") -> ProfileKey:
        """The profile key of measurements of this target; a measured template hash wins."""
        template = measured_hash or self.chat_template_hash
        return ProfileKey(self.provider, self.model, self.base_url, template)

    def resolve_dialect(self) -> Dialect:
        """The dialect to speak: the chosen one or the provider's own, as its base URL takes it."""
        return at_base_url(dialect_for(self.provider, self.dialect), self.base_url)


def check_base_url(text: str) -> str:
    """Normalise the base URL, or raise a TargetError that says what to change."""
    text = text.strip()
    _check_characters(text)
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError as exc:
        raise TargetError("The host or port of the base URL is not valid.") from exc
    _check_parts(parts)
    if port == 0:
        raise TargetError("The port of the base URL must be between 1 and 65535.")
    host = _host(parts.hostname or "")
    suffix = "" if port in (None, _DEFAULT_PORTS[parts.scheme]) else f":{port}"
    return f"{parts.scheme}://{host}{suffix}{parts.path.rstrip('/')}"


def origin(url: str) -> str:
    """Scheme, host and explicit port, which a credential is bound to."""
    parts = urlsplit(check_base_url(url))
    host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname
    return f"{parts.scheme}://{host}:{parts.port or _DEFAULT_PORTS[parts.scheme]}"


def check_options(options: Mapping[str, JSON]) -> None:
    """Refuse request options that would override what a probe sets itself."""
    reserved = sorted(RESERVED_OPTIONS & options.keys())
    if reserved:
        raise TargetError(
            "The request option {option} is set by the probe; remove it.", option=repr(reserved[0])
        )
    try:
        json.dumps(options, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as exc:
        raise TargetError("The request options are not a JSON object.") from exc


def check_template_hash(text: str) -> str:
    """The hash of a chat template in lower case; empty if none is declared."""
    text = text.strip().lower()
    if text and not _HASH.fullmatch(text):
        raise TargetError("The chat template hash is no SHA-256: write 64 hexadecimal digits.")
    return text


def check_key(text: str) -> Secret:
    """The API key as a Secret; raises TargetError if no HTTP header can carry it."""
    text = text.strip()
    if not all("!" <= char <= "~" for char in text):
        raise TargetError("The API key has spaces or characters that no HTTP header can carry.")
    return Secret(text)


def _provider(name: str) -> Provider:
    try:
        return Provider(name)
    except ValueError as exc:
        raise TargetError("There is no provider {name}.", name=repr(name)) from exc


def _check_characters(text: str) -> None:
    if not text:
        raise TargetError("The base URL is missing.")
    if len(text) > MAX_URL_LENGTH:
        raise TargetError("The base URL is longer than {count} characters.", count=MAX_URL_LENGTH)
    # urlsplit drops tabs and line breaks silently, so check for them first.
    if any(char.isspace() or not char.isprintable() for char in text):
        raise TargetError("The base URL contains spaces or control characters.")
    if "\\" in text:
        raise TargetError("The base URL contains a backslash.")


def _check_parts(parts: SplitResult) -> None:
    if parts.scheme not in _DEFAULT_PORTS:
        raise TargetError("The base URL must begin with http:// or https://.")
    if "@" in parts.netloc:
        raise TargetError("The base URL must not contain a user name or password.")
    if not parts.hostname:
        raise TargetError("The base URL has no host name.")
    if parts.query or parts.fragment:
        raise TargetError("The base URL must not contain a query (?) or a fragment (#).")


def _host(name: str) -> str:
    if ":" in name:
        return f"[{_address(name)}]"
    # "0x7f.1" and "2130706433" are addresses to a resolver; only the plain spelling is allowed.
    last_label = name.rstrip(".").rpartition(".")[2]
    if last_label.isdigit() or last_label.startswith("0x"):
        return _address(name)
    try:
        return idna.encode(name, uts46=True).decode("ascii")
    except idna.IDNAError as exc:
        return _plain_host(name, exc)


def _plain_host(name: str, cause: idna.IDNAError) -> str:
    # Container and LAN names often have an underscore, which IDNA refuses and resolvers accept.
    if "_" in name and name.isascii() and set(name) <= _HOST_CHARACTERS:
        return name
    raise TargetError(
        "The host name {name} of the base URL is not valid.", name=repr(name)
    ) from cause


def _address(text: str) -> str:
    try:
        return str(ipaddress.ip_address(text))
    except ValueError as exc:
        raise TargetError("{text} in the base URL is not an IP address.", text=repr(text)) from exc
