"""A stored request as a curl command for any POSIX shell, with `$API_KEY` in place of the key."""

from __future__ import annotations

from collections.abc import Iterator
from string import ascii_letters, digits

from dashboard.core.safe_text import visible
from dashboard.runs.exchange.stored_evidence import StoredRequest
from probes.adapters import adapter_for
from probes.redaction import MARK
from probes.secret import Secret
from probes.strict_json import parse_json
from probes.target import Provider

KEY = "$API_KEY"
# Linux limits an argument to 128 KiB; a longer body is piped to curl.
MAX_ARGUMENT_BYTES = 100_000
_MAX_BYTES = 1024 * 1024
_BARE = frozenset(ascii_letters + digits + "%+,-./:=@_")


def build_command(request: StoredRequest, provider: str, *, has_key: bool) -> str:
    """The command; escapes what a shell, a terminal or curl would interpret."""
    body, producer = _quote_body(request.body)
    lines = [
        f"curl --globoff --no-buffer --request {shell_quote(request.method or 'POST')}",
        f"--url {_quote_with_key(request.url)}",
        *(
            f"--header {_quote_with_key(header)}"
            for header in _build_headers(request, provider, has_key)
        ),
        "--data-binary @-" if producer else f"--data-raw {body}",
    ]
    command = " \\\n  ".join(lines)
    return f"{producer} |\n{command}\n" if producer else f"{command}\n"


def shell_quote(text: str) -> str:
    """The text as one shell word. It must not contain NUL, which no argument can hold."""
    if text and _BARE.issuperset(text):
        return text
    return "'" + text.replace("'", "'\\''") + "'"


def _build_headers(request: StoredRequest, provider: str, has_key: bool) -> Iterator[str]:
    key = Secret(KEY) if has_key else None
    headers = {name.lower(): value for name, value in request.headers.items()}
    # curl negotiates the compressions that it supports by itself.
    headers.pop("accept-encoding", None)
    own = adapter_for(Provider(provider)).headers(key)
    headers |= {name.lower(): value for name, value in own.items()}
    yield from (f"{name}: {value}" for name, value in headers.items())


def _quote_with_key(text: str) -> str:
    """The text as one shell word, with the shell variable where the key was redacted."""
    parts = text.replace(MARK, KEY).split(KEY)
    return f'"{KEY}"'.join(shell_quote(part) if part else "" for part in parts) or "''"


def _quote_body(body: str) -> tuple[str, str]:
    """The body as a shell word, or else the command that writes it to a pipe."""
    text = body
    if visible(body) != body:
        # A carriage return may be between JSON values, where an escape is not valid.
        if "\r" in body or parse_json(body, max_bytes=_MAX_BYTES).error is not None:
            return "", f"printf {_printf_format(body)}"
        text = "".join(_json_escape(char) for char in body)
    quoted = shell_quote(text)
    if len(quoted.encode("utf-8", "surrogatepass")) > MAX_ARGUMENT_BYTES:
        return "", f"printf %s {quoted}"
    return quoted, ""


def _json_escape(char: str) -> str:
    """A character of a JSON text; invisible and control characters become escapes."""
    if visible(char) == char:
        return char
    data = char.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{data[at]:02x}{data[at + 1]:02x}" for at in range(0, len(data), 2))


def _printf_format(text: str) -> str:
    """The text as a printf format of ASCII characters and octal escapes."""
    data = text.encode("utf-8", "surrogatepass")
    return shell_quote("".join(_octal(byte) for byte in data))


def _octal(byte: int) -> str:
    if byte == 0x25:
        return "%%"
    if byte == 0x5C:
        return "\\\\"
    return chr(byte) if 0x20 <= byte < 0x7F else f"\\{byte:03o}"
