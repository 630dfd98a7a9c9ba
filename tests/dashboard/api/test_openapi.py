from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

import jsonschema_rs
import pytest
from django.test import Client

from dashboard.api_root import api
from dashboard.core.permissions import Right
from probes import strict_json

PUBLIC = Client()
PUBLIC_OPERATIONS = {"list_problems", "read_problem"}


@cache
def document() -> dict[str, Any]:
    schema: dict[str, Any] = api.get_openapi_schema(path_prefix="/api/v1/")
    return schema


def operations() -> Iterator[tuple[str, dict[str, Any]]]:
    for path, methods in document()["paths"].items():
        for method, operation in methods.items():
            yield f"{method.upper()} {path}", operation


every_operation = pytest.mark.parametrize(
    "operation", [pytest.param(operation, id=name) for name, operation in operations()]
)


def test_the_document_is_served_to_everybody() -> None:
    """The document needs no token; its JSON has no duplicate keys."""
    answer = PUBLIC.get("/api/v1/openapi.json")

    assert answer.status_code == 200
    parsed = strict_json.parse_json(answer.content.decode(), max_bytes=10**7)
    assert (parsed.error, parsed.duplicate_keys) == (None, ())
    assert answer.json()["openapi"].startswith("3.1")
    assert answer.json()["info"]["title"] == "Toolgauge"


def test_the_promised_resources_are_there() -> None:
    """The paths that other programs rely on."""
    assert {name for name, _ in operations()} == {
        "GET /api/v1/endpoints",
        "POST /api/v1/endpoints",
        "GET /api/v1/endpoints/{slug}",
        "PATCH /api/v1/endpoints/{slug}",
        "DELETE /api/v1/endpoints/{slug}",
        "GET /api/v1/endpoints/{slug}/profiles",
        "GET /api/v1/endpoints/{slug}/runs",
        "POST /api/v1/endpoints/{slug}/runs",
        "GET /api/v1/endpoints/{slug}/metrics",
        "GET /api/v1/endpoints/{slug}/policy",
        "GET /api/v1/endpoints/{slug}/policy/versions",
        "GET /api/v1/endpoints/{slug}/modes",
        "POST /api/v1/endpoints/{slug}/modes",
        "DELETE /api/v1/endpoints/{slug}/modes/{switch_id}",
        "GET /api/v1/endpoints/{slug}/notes",
        "POST /api/v1/endpoints/{slug}/notes",
        "DELETE /api/v1/endpoints/{slug}/notes/{note_id}",
        "GET /api/v1/endpoints/{slug}/gate",
        "POST /api/v1/endpoints/{slug}/rollout",
        "POST /api/v1/endpoints/{slug}/step-back",
        "POST /api/v1/endpoints/{slug}/modes/{switch_id}/unpin",
        "GET /api/v1/rollouts",
        "GET /api/v1/rollouts/{request_id}",
        "POST /api/v1/rollouts/{request_id}/approve",
        "POST /api/v1/rollouts/{request_id}/reject",
        "POST /api/v1/rollouts/{request_id}/withdraw",
        "GET /api/v1/gates",
        "PUT /api/v1/gates",
        "GET /api/v1/gates/versions",
        "GET /api/v1/audit",
        "GET /api/v1/people",
        "POST /api/v1/people/{person_id}/deactivate",
        "GET /api/v1/teams",
        "POST /api/v1/teams",
        "PATCH /api/v1/teams/{team_id}",
        "DELETE /api/v1/teams/{team_id}",
        "GET /api/v1/tokens",
        "DELETE /api/v1/tokens/{prefix}",
        "POST /api/v1/people/{person_id}/roles",
        "DELETE /api/v1/people/{person_id}/roles/{grant_id}",
        "GET /api/v1/incidents",
        "GET /api/v1/incidents/{incident_id}",
        "POST /api/v1/incidents/{incident_id}/acknowledge",
        "POST /api/v1/incidents/{incident_id}/release",
        "POST /api/v1/incidents/{incident_id}/accept",
        "GET /api/v1/tool-rules",
        "GET /api/v1/runs/{run_id}",
        "POST /api/v1/runs/{run_id}/cancel",
        "GET /api/v1/runs/{run_id}/events",
        "GET /api/v1/runs/{run_id}/attempts",
        "GET /api/v1/runs/{run_id}/attempts/{probe}/{trial}/evidence",
        "GET /api/v1/runs/{run_id}/metrics",
        "POST /api/v1/telemetry",
        "GET /api/v1/problems",
        "GET /api/v1/problems/{code}",
    }


def test_every_reference_leads_somewhere() -> None:
    """No $ref points outside of the document or at nothing."""
    references = set(_references(document()))

    assert references
    for reference in references:
        assert _resolve(reference)


def test_every_schema_is_a_valid_one() -> None:
    """Schemas are JSON Schema 2020-12, as OpenAPI 3.1 has it."""
    for schema in _schemas():
        jsonschema_rs.Draft202012Validator({**schema, "components": document()["components"]})


def test_operation_ids_are_told_apart() -> None:
    """Operation ids are unique: generated clients use them as method names."""
    ids = [operation["operationId"] for _, operation in operations()]

    assert len(set(ids)) == len(ids)


@every_operation
def test_every_operation_says_what_it_does_and_who_may(operation: dict[str, Any]) -> None:
    """A summary, the scope of the token, the right behind it, and the errors with their shape."""
    error = {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}}

    assert operation["summary"]
    refusals = {int(status) for status in operation["responses"] if int(status) >= 400}
    if operation["operationId"] not in PUBLIC_OPERATIONS:
        ((scheme, scopes),) = operation["security"][0].items()
        assert (scheme, len(scopes)) == ("Token", 1)
        assert {401, 403} <= refusals
        assert operation.get("x-right") in set(Right) or operation["tags"] == ["telemetry"]
    assert all(operation["responses"][status]["content"] == error for status in refusals)


@every_operation
def test_only_reading_is_open_to_sessions(operation: dict[str, Any]) -> None:
    """The document agrees with the operation."""
    if operation["operationId"] in PUBLIC_OPERATIONS:
        assert "security" not in operation
        return
    schemes = [name for named in operation["security"] for name in named]
    reads = operation["security"][0]["Token"] == ["read"]

    assert set(schemes) == ({"Token", "Session"} if reads else {"Token"})


@every_operation
def test_every_operation_has_examples_that_are_true(operation: dict[str, Any]) -> None:
    """Bodies and responses have an example that matches its schema."""
    for content in _contents(operation):
        schema = content["schema"]
        if "example" in content:
            examples = [content["example"]]
        else:
            examples = _resolve(schema["$ref"])["examples"]
        full_schema = {**schema, "components": document()["components"]}
        for example in examples:
            jsonschema_rs.validate(full_schema, example)


def _contents(operation: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield from operation.get("requestBody", {}).get("content", {}).values()
    for status, answer in operation["responses"].items():
        content = answer.get("content", {})
        assert content or int(status) in (204, 304)
        yield from content.values()


def _schemas() -> Iterator[dict[str, Any]]:
    yield from document()["components"]["schemas"].values()
    for _, operation in operations():
        yield from (parameter["schema"] for parameter in operation["parameters"])
        yield from (content["schema"] for content in _contents(operation))


def _references(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        if isinstance(value.get("$ref"), str):
            yield value["$ref"]
        for inner in value.values():
            yield from _references(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _references(inner)


def _resolve(reference: str) -> dict[str, Any]:
    value: Any = document()
    for step in reference.removeprefix("#/").split("/"):
        value = value[step]
    assert isinstance(value, dict)
    return value
