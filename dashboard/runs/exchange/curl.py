"""A stored request as a command that any POSIX shell runs, with `$API_KEY` where the key goes."""

from __future__ import annotations

from collections.abc import Iterator
from string import ascii_letters, digits

from dashboard.core.safe_text import visible
from dashboard.runs.exchange.stored_evidence import Sent
from probes.adapters import adapter_for
from probes.redaction import MARK
from probes.secret import Secret
from probes.strict_json import parse_json
from probes.target import Provider

KEY = "$API_KEY"
# Linux takes no longer argument than 128 KiB; what is longer goes through a pipe.
MOST_ARGUMENT = 100_000
_MAX_BYTES = 1024 * 1024
_BARE = frozenset(ascii_letters + digits + "%+,-./:=@_")


def command(sent: Sent, provider: str, *, has_key: bool) -> str:
    """The command. What a shell, a terminal or curl would take for its own is escaped."""
    body, piped = _body(sent.body)
    lines = [
        f"curl --globoff --no-buffer --request {quote(sent.method or 'POST')}",
        f"--url {_with_key(sent.url)}",
        *(f"--header {_with_key(header)}" for header in _headers(sent, provider, has_key)),
        "--data-binary @-" if piped else f"--data-raw {body}",
    ]
    whole = " \\\n  ".join(lines)
    return f"{piped} |\n{whole}\n" if piped else f"{whole}\n"


def quote(text: str) -> str:
    """The text as one word of a shell. It has no NUL, which no argument can carry."""
    if text and _BARE.issuperset(text):
        return text
    return "'" + text.replace("'", "'\\''") + "'"


def _headers(sent: Sent, provider: str, has_key: bool) -> Iterator[str]:
    key = Secret(KEY) if has_key else None
    given = {name.lower(): value for name, value in sent.headers.items()}
    # Which compressions curl can undo is its own affair.
    given.pop("accept-encoding", None)
    own = adapter_for(Provider(provider)).headers(key)
    given |= {name.lower(): value for name, value in own.items()}
    yield from (f"{name}: {value}" for name, value in given.items())


def _with_key(text: str) -> str:
    """The text as one word, in which the shell puts the key where it was left out."""
    parts = text.replace(MARK, KEY).split(KEY)
    return f'"{KEY}"'.join(quote(part) if part else "" for part in parts) or "''"


def _body(body: str) -> tuple[str, str]:
    """The body as a word, or the command that writes it where it cannot be one."""
    text = body
    if visible(body) != body:
        # A carriage return may stand between JSON values, where no escape may.
        if "\r" in body or parse_json(body, max_bytes=_MAX_BYTES).error is not None:
            return "", f"printf {_format(body)}"
        text = "".join(_escaped(char) for char in body)
    quoted = quote(text)
    if len(quoted.encode("utf-8", "surrogatepass")) > MOST_ARGUMENT:
        return "", f"printf %s {quoted}"
    return quoted, ""


def _escaped(char: str) -> str:
    """A character of a JSON text; one that hides or acts is written as its escape."""
    if visible(char) == char:
        return char
    data = char.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{data[at]:02x}{data[at + 1]:02x}" for at in range(0, len(data), 2))


def _format(text: str) -> str:
    """Any bytes as the format of printf: in ASCII, the rest in octal."""
    data = text.encode("utf-8", "surrogatepass")
    return quote("".join(_octal(byte) for byte in data))


def _octal(byte: int) -> str:
    if byte == 0x25:
        return "%%"
    if byte == 0x5C:
        return "\\\\"
    return chr(byte) if 0x20 <= byte < 0x7F else f"\\{byte:03o}"
