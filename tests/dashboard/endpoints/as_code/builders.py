"""Files of endpoints for tests, and the short way to read and apply them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dashboard.endpoints.as_code import apply_plan, file_reader
from dashboard.endpoints.as_code.apply_plan import Plan
from dashboard.endpoints.as_code.file_errors import Mistake, Unreadable
from dashboard.endpoints.as_code.file_reader import Declared
from dashboard.endpoints.services import apply_file

# What tests/factories.py makes, word for word.
STEADY = """\
version: 1
endpoints:
  steady:
    provider: openai
    base_url: http://127.0.0.1:9/v1
    model: m-1
    max_concurrency: 2
"""
NEW = """\
  fresh:
    provider: anthropic
    base_url: https://Host.example:443/
    model: "4"
    options: {temperature: 0}
"""


def declared(text: str, variables: Mapping[str, str] | None = None) -> Sequence[Declared]:
    return file_reader.read(text, variables=variables or {})


def wrong(text: str, variables: Mapping[str, str] | None = None) -> Sequence[Mistake]:
    """All that is wrong with a text."""
    try:
        file_reader.read(text, variables=variables)
    except Unreadable as exc:
        return exc.mistakes
    return []


def planned(text: str, *, prune: bool = False, **variables: str) -> Plan:
    return apply_plan.make(declared(text, variables), prune=prune)


def applied(
    text: str, *, prune: bool = False, expected: str | None = None, **variables: str
) -> Plan:
    return apply_file.apply(declared(text, variables), prune=prune, expected=expected, by=None)
