"""Everybody gets from every address what the table of rights says, and nothing more."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from dashboard import access
from tests.security.rights_table import PAGES
from tests.security.rights_walk import addresses, every_pattern, make_world, wrong_answers


def test_every_address_is_in_the_table_of_rights() -> None:
    """Whoever adds an address says in tests/security/rights_table.py who may use it."""
    assert {address.name for address in addresses()} == set(PAGES)


def test_every_view_declares_its_right() -> None:
    """A view without a declaration refuses everybody: see dashboard/access.py."""
    undeclared = [
        f"{prefix}{pattern.pattern}"
        for prefix, pattern in every_pattern()
        if access.declared_by(pattern.callback) is None
    ]

    assert undeclared == []


def test_whatever_stands_in_an_address_has_a_team_or_is_known_to_have_none() -> None:
    """A new name in an address is put into one of the two lists of dashboard/access.py."""
    named = {name for address in addresses() for name in address.kwargs}

    assert named <= access.OF_A_TEAM | access.OF_NO_TEAM
    assert not access.OF_A_TEAM & access.OF_NO_TEAM


@pytest.mark.django_db
@pytest.mark.usefixtures("static_files")
def test_everybody_gets_from_every_page_what_the_table_says(
    settings: Any, caplog: pytest.LogCaptureFixture
) -> None:
    """Each address and method × nobody, each role, an administrator and another team's operator."""
    caplog.set_level(logging.CRITICAL)
    settings.SIMULATOR_URL = "http://127.0.0.1:9"
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]

    assert wrong_answers(make_world()) == {}
