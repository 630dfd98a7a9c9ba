"""Whether Ollama is found on this machine, and what is made of its answer."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.test import Client

from dashboard.endpoints.ollama_discovery import Model, read_models
from tests.markup import assert_not_contains


def test_its_models_lead_to_a_form_that_is_filled_in() -> None:
    """The name goes into the address as data, whatever is in it."""
    body = json.dumps({"models": [{"name": "qwen3:8b"}, {"name": "a&b=<c>"}]}).encode()

    assert read_models(body) == [Model("qwen3:8b"), Model("a&b=<c>")]
    assert Model("a&b=<c>").query == "preset=ollama&model=a%26b%3D%3Cc%3E"


@pytest.mark.parametrize(
    "body",
    [b"", b"<html>", b"[]", b'{"models": 5}', b'{"models": [5]}', b'{"other": []}', b"[" * 90_000],
)
def test_whoever_else_answers_there_is_not_taken_for_it(body: bytes) -> None:
    """Another server on that port is no Ollama, and breaks nothing."""
    assert read_models(body) is None


def test_many_models_are_cut_to_a_few() -> None:
    """The page offers a beginning, not a catalogue."""
    body = json.dumps({"models": [{"name": f"m{n}" * 200} for n in range(500)]}).encode()

    found = read_models(body)

    assert found is not None
    assert len(found) == 6
    assert len(found[0].name) == 200


def test_nothing_is_said_where_nothing_answers(signed_in: Client, settings: Any) -> None:
    """No grant, no answer: the part is empty, and the page goes on without it."""
    settings.EGRESS_GRANTS = ""

    part = signed_in.get("/first-run/nearby/")

    assert_not_contains(part, "Ollama")
    signed_in.logout()
    assert signed_in.get("/first-run/nearby/").headers["Location"].startswith("/login/")
