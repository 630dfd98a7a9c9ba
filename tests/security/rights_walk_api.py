"""Walks every operation of the API as everybody."""

from __future__ import annotations

import re
from dataclasses import dataclass

from django.http import HttpResponseBase

from dashboard.api_root import api
from dashboard.core.permissions import TEAM_PARAMETERS
from tests.security.rights_table import OPERATIONS, STREAMS, UNSEEN, Who
from tests.security.rights_walk import API
from tests.security.rights_world import BLIND, World, sent


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation of the API, with the address that its document gives."""

    name: str
    method: str
    path: str

    @property
    def is_of_a_team(self) -> bool:
        return any(f"{{{name}}}" in self.path for name in TEAM_PARAMETERS)


def operations() -> list[Operation]:
    found = api.get_openapi_schema(path_prefix=f"/{API}")["paths"]
    return [
        Operation(described["operationId"], method.upper(), path)
        for path, methods in found.items()
        for method, described in methods.items()
    ]


def wrong_answers_of_the_api(world: World) -> dict[str, str]:
    """The same of every operation, by a token that somebody of each kind has made."""
    wrong = {}
    world.client.cookies.clear()
    for each in operations():
        named = {name: world.named(name) for name in re.findall(r"{(\w+)}", each.path)}
        path = each.path.format(**named)
        for who in Who:
            expected = _owed(each, who)
            if each.name in STREAMS and expected == "allowed":
                continue
            answer = _call(world, who, each.method, path)
            found = _told(answer.status_code)
            if found != expected:
                status = f"{found} ({answer.status_code}), not {expected}"
                wrong[f"{each.method} {path} ({each.name}) as {who}"] = status
    return wrong


def _call(world: World, who: Who, method: str, path: str) -> HttpResponseBase:
    text = world.tokens.get(who)
    headers = {"Authorization": f"Bearer {text}"} if text else {}
    kind = "application/json"
    return sent(world.client, method, path, "{}", content_type=kind, headers=headers)


def _told(status: int) -> str:
    """Allowed is also what was let in and then found wanting, as an empty body is."""
    return str(status) if status in {401, 403, 404, 429} or status >= 500 else "allowed"


def _owed(operation: Operation, who: Who) -> str:
    may = OPERATIONS[operation.name]
    if who in UNSEEN.get(operation.name, ()):
        return "404"
    if who in may:
        return "allowed"
    if who is Who.ANONYMOUS:
        return "401"
    if operation.is_of_a_team and who in BLIND:
        return "404"
    return "allowed" if who is Who.FOREIGN and Who.OPERATOR in may else "403"
