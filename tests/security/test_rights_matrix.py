"""Every persona gets at every URL what the table of rights says, and nothing more."""

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
    find_unknown_methods,
    find_wrong_answers,
    list_addresses,
    list_patterns,
)
from tests.security.rights_walk_api import find_wrong_api_answers, list_operations
from tests.security.rights_world import make_world


def test_every_address_is_in_the_table_of_rights() -> None:
    """A new URL needs an entry in tests/security/rights_table.py."""
    assert {address.name for address in list_addresses()} == set(PAGES)


def test_every_operation_of_the_api_is_in_the_table_of_rights() -> None:
    """Each has one name, and every path of the API is in the OpenAPI document."""
    operations = list_operations()

    assert {operation.name for operation in operations} == set(OPERATIONS)
    assert len(operations) == len(OPERATIONS)
    paths = {operation.path.removeprefix(f"/{API}") for operation in operations}
    reached = {
        _document_path(str(pattern.pattern)) for prefix, pattern in list_patterns() if prefix
    }
    assert reached - paths == {"", "openapi.json"}


def _document_path(route: str) -> str:
    """A route of the resolver as the OpenAPI document writes it."""
    return re.sub(r"<(\w+:)?(\w+)>", r"{\2}", route)


def test_every_view_declares_its_right() -> None:
    """A view without a declaration refuses everyone: see dashboard/core/permissions.py."""
    undeclared = [
        f"{prefix}{pattern.pattern}"
        for prefix, pattern in list_patterns()
        if permissions.declared_rights(pattern.callback) is None
    ]

    assert undeclared == []


def test_whatever_stands_in_an_address_has_a_team_or_is_known_to_have_none() -> None:
    """A new URL parameter is in one of the two lists of dashboard/core/permissions.py."""
    patterns = [pattern.pattern for _, pattern in list_patterns()]
    named = {name for pattern in patterns for name in pattern.regex.groupindex}

    assert named <= permissions.TEAM_PARAMETERS | permissions.TEAMLESS_PARAMETERS
    assert not permissions.TEAM_PARAMETERS & permissions.TEAMLESS_PARAMETERS


@pytest.mark.timeout(600)  # it visits all addresses, as everybody
@pytest.mark.django_db
@pytest.mark.usefixtures("static_files")
def test_everybody_gets_from_every_address_what_the_table_says(
    settings: Any, caplog: pytest.LogCaptureFixture
) -> None:
    """Each URL, operation and method × anonymous, each role, administrator, another team. Pages
    have no further methods: an administrator gets nothing by them."""
    caplog.set_level(logging.CRITICAL)
    settings.SIMULATOR_URL = "http://127.0.0.1:9"
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]

    settings.API_RATE = settings.API_AUTH_FAILURES = (100_000, 60)
    world = make_world()
    # Otherwise the garbage collector visits all imported modules every few requests.
    gc.freeze()

    assert find_wrong_answers(world) == {}
    assert find_unknown_methods(world) == {}
    assert find_wrong_api_answers(world) == {}
