"""Everybody gets from every address what the table of rights says, and nothing more."""

from __future__ import annotations

import gc
import logging
import re
from typing import Any

import pytest

from dashboard.core import permissions
from tests.security.rights_table import OPERATIONS, PAGES
from tests.security.rights_walk import (
    API,
    addresses,
    every_pattern,
    unknown_methods,
    wrong_answers,
)
from tests.security.rights_walk_api import operations, wrong_answers_of_the_api
from tests.security.rights_world import make_world


def test_every_address_is_in_the_table_of_rights() -> None:
    """Whoever adds an address says in tests/security/rights_table.py who may use it."""
    assert {address.name for address in addresses()} == set(PAGES)


def test_every_operation_of_the_api_is_in_the_table_of_rights() -> None:
    """Each has one name, and nothing else of the API can be reached without being described."""
    found = operations()

    assert {each.name for each in found} == set(OPERATIONS)
    assert len(found) == len(OPERATIONS)
    paths = {each.path.removeprefix(f"/{API}") for each in found}
    reached = {_described(str(pattern.pattern)) for prefix, pattern in every_pattern() if prefix}
    assert reached - paths == {"", "openapi.json"}


def _described(route: str) -> str:
    """An address of the resolver as the document of the API writes it."""
    return re.sub(r"<(\w+:)?(\w+)>", r"{\2}", route)


def test_every_view_declares_its_right() -> None:
    """A view without a declaration refuses everybody: see dashboard/core/permissions.py."""
    undeclared = [
        f"{prefix}{pattern.pattern}"
        for prefix, pattern in every_pattern()
        if permissions.declared_rights(pattern.callback) is None
    ]

    assert undeclared == []


def test_whatever_stands_in_an_address_has_a_team_or_is_known_to_have_none() -> None:
    """A new name in an address is in one of the two lists of dashboard/core/permissions.py."""
    patterns = [pattern.pattern for _, pattern in every_pattern()]
    named = {name for pattern in patterns for name in pattern.regex.groupindex}

    assert named <= permissions.TEAM_PARAMETERS | permissions.TEAMLESS_PARAMETERS
    assert not permissions.TEAM_PARAMETERS & permissions.TEAMLESS_PARAMETERS


@pytest.mark.django_db
@pytest.mark.usefixtures("static_files")
def test_everybody_gets_from_every_address_what_the_table_says(
    settings: Any, caplog: pytest.LogCaptureFixture
) -> None:
    """Each address, operation and method × nobody, each role, administrator, another team. Pages
    know no further methods: who may do everything gets nothing by them."""
    caplog.set_level(logging.CRITICAL)
    settings.SIMULATOR_URL = "http://127.0.0.1:9"
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]

    settings.API_RATE = settings.API_AUTH_FAILURES = (100_000, 60)
    world = make_world()
    # Else every few requests all that was ever imported is looked through for what is left over.
    gc.freeze()

    assert wrong_answers(world) == {}
    assert unknown_methods(world) == {}
    assert wrong_answers_of_the_api(world) == {}
