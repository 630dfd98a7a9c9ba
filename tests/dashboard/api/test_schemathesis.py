"""The API against its own document: every response to any input is a documented one.

Few examples, the same in every run; `./run test --all` tries more of each operation.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest
import schemathesis
from django.contrib.auth.models import User
from django.core.handlers.wsgi import WSGIHandler
from django.core.signals import request_finished, request_started
from django.db import close_old_connections, transaction
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.errors import Unsatisfiable
from pytest_django import Settings
from schemathesis import Case, GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.core.result import Ok
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from dashboard.api_root import api as described
from dashboard.charts import services as notes
from dashboard.models import Endpoint, Grant, Team
from dashboard.models.people import Role, Scope
from dashboard.people.services import tokens
from dashboard.trust import gates, modes, rollout_requests
from health.gates import DEFAULTS
from health.modes import Mode
from tests.dashboard.api.incidents import make_incident
from tests.dashboard.rollouts.builders import make_ready_endpoint
from tests.extent import EXTENT
from tests.factories import make_attempt, make_person, make_run

CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
]
# A stream that ends with its run; test_run_events.py reads it from a real server.
STREAMS = {"follow_run"}
few = settings(
    max_examples=EXTENT.api_examples,
    derandomize=True,
    deadline=None,
    database=None,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)


@pytest.fixture(autouse=True)
def _one_connection() -> Iterator[None]:
    """Requests run in the test's own transaction, as with Django's client."""
    for signal in (request_started, request_finished):
        signal.disconnect(close_old_connections)
    yield
    for signal in (request_started, request_finished):
        signal.connect(close_old_connections)


@pytest.fixture
def known_values(db: None) -> dict[str, Any]:
    """Rows of every kind, by the names of path parameters."""
    endpoint = make_ready_endpoint()
    olga = make_person("olga", Role.OPERATOR, team=Team.objects.create(name="search"))
    Grant.objects.create(person=olga, team=None, role=Role.OPERATOR)
    request_id = _make_promotion_request(endpoint, olga)
    run = make_run(endpoint)
    make_attempt(run, probe="format", trial=1, evidence={"exchanges": []})
    switch = modes.switch_on(endpoint.profile, Mode.NO_PARALLEL, by=olga, reason="so", pinned=True)
    return {
        "slug": endpoint.slug,
        "run_id": run.pk,
        "probe": "format",
        "trial": 1,
        "incident_id": make_incident(endpoint).pk,
        "switch_id": switch.pk,
        "note_id": notes.add_note(endpoint, at=None, text="new engine", by=None).pk,
        "request_id": request_id,
        "person_id": olga.pk,
        "team_id": Team.objects.get().pk,
        "prefix": tokens.issue_token(name="old", scopes=["read"], by=olga).token.prefix,
        "grant_id": Grant.objects.filter(person=olga).earliest("pk").pk,
        "code": "not_found",
    }


def _make_promotion_request(endpoint: Endpoint, olga: User) -> int:
    root = User.objects.create_superuser("root")
    body = DEFAULTS.as_json()
    body["read_only"]["trials"] = 29
    gates.change_gates(body, by=root, reason="one less")
    return rollout_requests.request_promotion(endpoint.profile, by=olga, reason="a good week").pk


def _operations() -> Iterator[Any]:
    config = schemathesis.Config.from_dict({"generation": {"with-security-parameters": False}})
    schema = schemathesis.openapi.from_dict(
        dict(described.get_openapi_schema(path_prefix="/api/v1/")), config=config
    )
    schema.app = WSGIHandler()
    for result in schema.get_all_operations():
        assert isinstance(result, Ok)
        operation = result.ok()
        if operation.definition.raw["operationId"] not in STREAMS:
            yield operation


def _known_path_values(
    operation: Any, known_values: dict[str, Any], mode: GenerationMode
) -> dict[str, Any] | None:
    """Path values of existing objects, unless the path is all that can be invalid."""
    names = [parameter.name for parameter in operation.path_parameters]
    has_other_input = bool(operation.body or operation.query or operation.headers)
    is_fixed = has_other_input or mode is GenerationMode.POSITIVE
    return {name: known_values[name] for name in names} if names and is_fixed else None


@pytest.mark.timeout(180 + 60 * EXTENT.api_examples)
@pytest.mark.parametrize("mode", list(GenerationMode), ids=lambda mode: mode.value)
def test_every_answer_is_one_that_the_document_tells(
    known_values: dict[str, Any], settings: Settings, mode: GenerationMode
) -> None:
    """No server error, no undocumented status, no other body or content type."""
    settings.API_RATE = settings.API_TELEMETRY_RATE = (1_000_000, 1.0)
    root = User.objects.get(username="root")
    text = tokens.issue_token(name="all", scopes=Scope.values, by=root).text
    called = set()

    for operation in _operations():

        @few
        @given(
            case=operation.as_strategy(
                generation_mode=mode,
                path_parameters=_known_path_values(operation, known_values, mode),
            )
        )
        def try_one(case: Case[Any]) -> None:
            with transaction.atomic():
                answer = case.call(headers={"Authorization": f"Bearer {text}"})
                transaction.set_rollback(True)
            case.validate_response(answer, checks=CHECKS)
            assert answer.status_code != 401
            called.add(case.operation.label)

        # Without any input, nothing can be invalid.
        with suppress(Unsatisfiable):
            try_one()

    assert len(called) > 40
