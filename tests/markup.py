"""Assertions on the content of pages, independent of the white space in templates."""

from __future__ import annotations

import re
from typing import Protocol


class Response(Protocol):
    status_code: int

    @property
    def content(self) -> bytes: ...


def squeeze(markup: str) -> str:
    """Drop the white space around tags and shorten all other to one space."""
    return re.sub(r"\s*([<>])\s*", r"\1", re.sub(r"\s+", " ", markup))


def assert_contains(
    page: Response, text: object, *, count: int | None = None, status_code: int = 200
) -> None:
    """The page has that text or markup, `count` times if given."""
    assert page.status_code == status_code
    content, expected = squeeze(page.content.decode()), squeeze(str(text))
    times = content.count(expected)
    assert times if count is None else times == count, f"{times} × {expected!r} in {content}"


def assert_not_contains(page: Response, text: object, *, status_code: int = 200) -> None:
    """The page has neither that text nor that markup."""
    assert page.status_code == status_code
    content, unwanted = squeeze(page.content.decode()), squeeze(str(text))
    assert unwanted not in content, f"{unwanted!r} in {content}"
