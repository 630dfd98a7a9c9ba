"""JSON as models write it: parsed strictly, or with the few repairs that cannot change its meaning.

| repair | what was wrong |
|---|---|
| `strip_bom` | a byte order mark or unusual white space around the value |
| `strip_fence` | the value was in a code fence, or after the word `json` |
| `trailing_junk` | after the value came `]`, `}`, `;`, a fence or a sentinel, and nothing else |
| `control_characters` | raw line breaks or tabs in a string |
| `trailing_comma` | a comma before a closing bracket |
| `comments` | `//` or `/* */` between the tokens |
| `python_literals` | True, False, None, single-quoted or triple-quoted strings |
| `unquoted_keys` | a key was a bare word |
| `invalid_escapes` | a backslash escaped nothing that JSON knows; it is kept as a backslash |
| `duplicate_keys` | a key came twice; the last one counts |

A text that ends early is never completed: `closable` only says that it could be.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from probes.messages import JSON
from probes.resolve.lenient_json import Ended, LenientReader, Malformed, TooDeep
from probes.resolve.tool_names import MARKUP
from probes.strict_json import parse_json

MAX_BYTES = 1024 * 1024
ORDER = (
    "strip_bom",
    "strip_fence",
    "trailing_junk",
    "control_characters",
    "trailing_comma",
    "comments",
    "python_literals",
    "unquoted_keys",
    "invalid_escapes",
    "duplicate_keys",
)
FENCE = "```"
_SPACE = " \t\r\n"
# Characters that models put around JSON and str.strip() does not remove.
_INVISIBLE = "\ufeff\u200b\u2060\0"


@dataclass(frozen=True, slots=True)
class JsonReading:
    """A value and its repairs, or the sentence that says why there is none.

    `ended_early`: the text ends inside the value; `closable`: it would parse with its open brackets
    closed; `several`: another value follows the first.
    """

    value: JSON = None
    repairs: tuple[str, ...] = ()
    error: str | None = None
    too_large: bool = False
    ended_early: bool = False
    closable: bool = False
    several: bool = False


def read_strictly(text: str) -> JsonReading:
    """Parse strict JSON; repeated keys count as a repair."""
    parsed = parse_json(text, max_bytes=MAX_BYTES)
    if parsed.error is not None:
        return JsonReading(error=parsed.error, too_large=parsed.too_large)
    return JsonReading(parsed.value, ("duplicate_keys",) if parsed.duplicate_keys else ())


def read_json(text: str) -> JsonReading:
    """Parse JSON or text that is nearly JSON. Never raises, whatever the text is."""
    strict = read_strictly(text)
    if strict.error is None or strict.too_large:
        return strict
    body, used = _unwrap(text)
    reader = LenientReader(body)
    try:
        value = reader.value()
        used |= _check_tail(body, reader.position)
    except TooDeep as exc:
        return JsonReading(error=str(exc), too_large=True)
    except Ended as exc:
        return replace(strict, ended_early=True, closable=exc.closable)
    except _SeveralValues:
        return JsonReading(error="Several JSON values stand one after the other.", several=True)
    except Malformed:
        # The strict reader's message names the first error.
        return strict
    used |= reader.used
    return JsonReading(value, tuple(name for name in ORDER if name in used))


class _SeveralValues(Malformed):
    """Another value follows the first."""


def _unwrap(text: str) -> tuple[str, set[str]]:
    used: set[str] = set()
    body = text.strip(_SPACE)
    bare = body.strip().strip(_INVISIBLE).strip()
    if bare != body:
        used.add("strip_bom")
    unfenced = _without_fence(bare)
    if unfenced != bare:
        used.add("strip_fence")
    return unfenced, used


def _without_fence(text: str) -> str:
    if text.startswith(FENCE):
        text = text[len(FENCE) :].removesuffix(FENCE).strip()
    head = text[:5].lower()
    if head.startswith("json") and head[4:] in ("{", "[", " ", "\n", "\r", "\t", '"'):
        text = text[4:].strip()
    return text


def _check_tail(text: str, position: int) -> set[str]:
    """The repair for the text after the value; raises if that text is not allowed."""
    start = position
    while position < len(text):
        if text[position] in " \t\r\n]};":
            position += 1
        elif text.startswith(FENCE, position):
            position += len(FENCE)
        elif match := MARKUP.match(text, position):
            position = match.end()
        else:
            break
    rest = text[position : position + 2].lstrip(", ")
    if rest[:1] in ("{", "["):
        raise _SeveralValues(position)
    if position < len(text):
        raise Malformed(position)
    return {"trailing_junk"} if text[start:].strip() else set()
