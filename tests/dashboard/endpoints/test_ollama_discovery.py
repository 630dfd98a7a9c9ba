"""The discovery of a local Ollama and its models."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.test import Client

from dashboard.endpoints.ollama_discovery import OllamaModel, parse_models
from tests.markup import assert_not_contains


def test_a_model_links_to_a_prefilled_form() -> None:
    """The name is escaped in the query string."""
    body = json.dumps({"models": [{"name": "qwen3:8b"}, {"name": "a&b=<c>"}]}).encode()

    assert parse_models(body) == [OllamaModel("qwen3:8b"), OllamaModel("a&b=<c>")]
    assert OllamaModel("a&b=<c>").query == "preset=ollama&model=a%26b%3D%3Cc%3E"


@pytest.mark.parametrize(
    "body",
    [b"", b"<html>", b"[]", b'{"models": 5}', b'{"models": [5]}', b'{"other": []}', b"[" * 90_000],
)
def test_another_server_on_the_port_is_ignored(body: bytes) -> None:
    """An unexpected response counts as no Ollama."""
    assert parse_models(body) is None


def test_the_number_of_models_is_limited() -> None:
    """The page offers the first six models, with bounded names."""
    body = json.dumps({"models": [{"name": f"m{n}" * 200} for n in range(500)]}).encode()

    models = parse_models(body)

    assert models is not None
    assert len(models) == 6
    assert len(models[0].name) == 200


def test_the_part_is_empty_without_a_response(signed_in: Client, settings: Any) -> None:
    """Without a grant the part is empty; it requires a login."""
    settings.EGRESS_GRANTS = ""

    part = signed_in.get("/first-run/nearby/")

    assert_not_contains(part, "Ollama")
    signed_in.logout()
    assert signed_in.get("/first-run/nearby/").headers["Location"].startswith("/login/")
