"""Endpoints files for tests, and helpers that read, plan and apply them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dashboard.endpoints.as_code import apply_plan, file_reader
from dashboard.endpoints.as_code.apply_plan import Plan
from dashboard.endpoints.as_code.file_errors import InvalidFile, Mistake
from dashboard.endpoints.as_code.file_reader import DeclaredEndpoint
from dashboard.endpoints.services.apply_file import apply_endpoints

# The same endpoint as tests/factories.py makes.
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


def read_file(text: str, variables: Mapping[str, str] | None = None) -> Sequence[DeclaredEndpoint]:
    return file_reader.read_endpoints(text, variables=variables or {})


def read_mistakes(text: str, variables: Mapping[str, str] | None = None) -> Sequence[Mistake]:
    try:
        file_reader.read_endpoints(text, variables=variables)
    except InvalidFile as exc:
        return exc.mistakes
    return []


def make_plan(text: str, *, prune: bool = False, **variables: str) -> Plan:
    return apply_plan.make_plan(read_file(text, variables), prune=prune)


def apply_file(
    text: str, *, prune: bool = False, expected: str | None = None, **variables: str
) -> Plan:
    return apply_endpoints(read_file(text, variables), prune=prune, expected=expected, by=None)
