"""Calls every operation of the API as every persona."""

from __future__ import annotations

import re
from dataclasses import dataclass

from django.http import HttpResponseBase

from dashboard.api_root import api
from dashboard.core.permissions import TEAM_PARAMETERS
from tests.security.rights_table import OPERATIONS, STREAMS, UNSEEN, Persona
from tests.security.rights_walk import API
from tests.security.rights_world import WITHOUT_ACCESS, World, send_and_roll_back


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation of the API, with its path from the OpenAPI document."""

    name: str
    method: str
    path: str

    @property
    def is_of_a_team(self) -> bool:
        return any(f"{{{name}}}" in self.path for name in TEAM_PARAMETERS)


def list_operations() -> list[Operation]:
    paths = api.get_openapi_schema(path_prefix=f"/{API}")["paths"]
    return [
        Operation(operation["operationId"], method.upper(), path)
        for path, methods in paths.items()
        for method, operation in methods.items()
    ]


def find_wrong_api_answers(world: World) -> dict[str, str]:
    """The same for every operation, with a token of each persona."""
    wrong = {}
    world.client.cookies.clear()
    for operation in list_operations():
        parameters = {
            name: world.parameter(name) for name in re.findall(r"{(\w+)}", operation.path)
        }
        path = operation.path.format(**parameters)
        for persona in Persona:
            expected = _expected_answer(operation, persona)
            if operation.name in STREAMS and expected == "allowed":
                continue
            answer = _call_as(world, persona, operation.method, path)
            kind = _answer_kind(answer.status_code)
            if kind != expected:
                status = f"{kind} ({answer.status_code}), not {expected}"
                wrong[f"{operation.method} {path} ({operation.name}) as {persona}"] = status
    return wrong


def _call_as(world: World, persona: Persona, method: str, path: str) -> HttpResponseBase:
    text = world.tokens.get(persona)
    headers = {"Authorization": f"Bearer {text}"} if text else {}
    kind = "application/json"
    return send_and_roll_back(world.client, method, path, "{}", content_type=kind, headers=headers)


def _answer_kind(status: int) -> str:
    """An authorised request with an invalid body, such as an empty one, counts as allowed."""
    return str(status) if status in {401, 403, 404, 429} or status >= 500 else "allowed"


def _expected_answer(operation: Operation, persona: Persona) -> str:
    may = OPERATIONS[operation.name]
    if persona in UNSEEN.get(operation.name, ()):
        return "404"
    if persona in may:
        return "allowed"
    if persona is Persona.ANONYMOUS:
        return "401"
    if operation.is_of_a_team and persona in WITHOUT_ACCESS:
        return "404"
    return "allowed" if persona is Persona.FOREIGN and Persona.OPERATOR in may else "403"
