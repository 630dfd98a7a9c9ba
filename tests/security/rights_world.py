"""One of everything that addresses name, owned by a team, and somebody of each kind."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.conf import settings
from django.contrib.auth.models import User
from django.db import transaction
from django.http import HttpResponseBase
from django.test import Client

from dashboard.charts import services as notes
from dashboard.models import ApiToken, AuditEntry, Endpoint
from dashboard.models.people import Role, Scope, Team
from dashboard.people.services import tokens
from tests.dashboard.audit.builders import link_now
from tests.factories import make_person
from tests.i18n import rows
from tests.i18n.rows import Rows
from tests.security.rights_table import Who

# For whom the endpoint of the rows does not exist.
BLIND = frozenset({Who.NOBODY, Who.FOREIGN})


@dataclass(frozen=True, slots=True)
class World:
    """One of everything, owned by a team, and somebody of each kind."""

    made: Rows
    entry: int
    cookies: Mapping[Who, str]
    tokens: Mapping[Who, str]
    # One for all: a new one would make the whole stack of middleware anew.
    client: Client

    def named(self, name: str) -> Any:
        """What stands in an address under a name."""
        return self._named()[name]

    def _named(self) -> dict[str, Any]:
        made = self.made
        return {
            "slug": made.endpoint.slug,
            "run_id": made.run.pk,
            "probe": "format",
            "trial": made.trials[0],
            "step": 1,
            "metric": "parse_success",
            "note_id": made.note,
            "switch_id": made.switch,
            "incident_id": made.incident.pk,
            "window_id": made.window,
            "person_id": made.person,
            "prefix": made.token,
            "rule_id": made.rule,
            "channel_id": made.webhook.pk,
            "delivery_id": made.delivery,
            "request_id": made.requests[0],
            "team_id": made.team,
            "grant_id": made.grant,
            "token": made.invitation,
            "entry_id": self.entry,
            "code": "conflict",
            "factor_id": made.factor,
            "session_id": UUID(int=0),
        }


def make_world() -> World:
    team, other = Team.objects.create(name="ours"), Team.objects.create(name="theirs")
    people = {
        Who.ADMINISTRATOR: User.objects.create_superuser("root"),
        Who.NOBODY: make_person("nobody"),
        Who.VIEWER: make_person("viewer", Role.VIEWER, team=team),
        Who.OPERATOR: make_person("operator", Role.OPERATOR, team=team),
        Who.APPROVER: make_person("approver", Role.APPROVER, team=team),
        Who.FOREIGN: make_person("foreigner", Role.OPERATOR, team=other),
    }
    made = rows.make(people[Who.ADMINISTRATOR])
    Endpoint.objects.update(team=team)
    entry = _entry_about(Endpoint.objects.get(pk=made.endpoint.pk))
    return World(
        made,
        entry,
        cookies={who: _cookie(person) for who, person in people.items()},
        tokens={who: _token(person) for who, person in people.items()},
        client=Client(raise_request_exception=False),
    )


def _entry_about(endpoint: Endpoint) -> int:
    """An entry of the audit log, made while the endpoint is the team's."""
    notes.add_note(endpoint, at=None, text="zeta-1", by=None)
    link_now()
    return AuditEntry.objects.latest("id").pk


def _token(person: User) -> str:
    """A token of every scope, whatever its maker may do: it may do what both allow."""
    made = tokens.issue_token(name="all", scopes=Scope.values, by=User.objects.get(username="root"))
    ApiToken.objects.filter(pk=made.token.pk).update(created_by=person)
    return made.text


def _cookie(person: User) -> str:
    client = Client()
    client.force_login(person)
    return client.cookies[settings.SESSION_COOKIE_NAME].value


def sent(client: Client, method: str, path: str, data: str, **more: Any) -> HttpResponseBase:
    """What is answered; nothing of what it did is kept."""
    with transaction.atomic():
        answer = client.generic(method, path, data, **more)
        transaction.set_rollback(True)
    return answer
