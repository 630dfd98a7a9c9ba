"""One of everything that URLs name, owned by a team, and one person of each kind."""

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
from tests.security.rights_table import Persona

# The personas that may not see the endpoint of the rows.
WITHOUT_ACCESS = frozenset({Persona.NOBODY, Persona.FOREIGN})


@dataclass(frozen=True, slots=True)
class World:
    """One of everything, owned by a team, and one person of each kind."""

    rows: Rows
    entry: int
    cookies: Mapping[Persona, str]
    tokens: Mapping[Persona, str]
    # One for all: every new client would create the whole middleware stack.
    client: Client

    def parameter(self, name: str) -> Any:
        """The value of a URL parameter."""
        return self._parameters()[name]

    def _parameters(self) -> dict[str, Any]:
        rows = self.rows
        return {
            "slug": rows.endpoint.slug,
            "run_id": rows.run.pk,
            "probe": "format",
            "trial": rows.trials[0],
            "step": 1,
            "metric": "parse_success",
            "note_id": rows.note,
            "switch_id": rows.switch,
            "incident_id": rows.incident.pk,
            "window_id": rows.window,
            "person_id": rows.person,
            "prefix": rows.token,
            "rule_id": rows.rule,
            "channel_id": rows.webhook.pk,
            "delivery_id": rows.delivery,
            "request_id": rows.requests[0],
            "team_id": rows.team,
            "grant_id": rows.grant,
            "token": rows.invitation,
            "entry_id": self.entry,
            "code": "conflict",
            "factor_id": rows.factor,
            "session_id": UUID(int=0),
        }


def make_world() -> World:
    team, other = Team.objects.create(name="ours"), Team.objects.create(name="theirs")
    people = {
        Persona.ADMINISTRATOR: User.objects.create_superuser("root"),
        Persona.NOBODY: make_person("nobody"),
        Persona.VIEWER: make_person("viewer", Role.VIEWER, team=team),
        Persona.OPERATOR: make_person("operator", Role.OPERATOR, team=team),
        Persona.APPROVER: make_person("approver", Role.APPROVER, team=team),
        Persona.FOREIGN: make_person("foreigner", Role.OPERATOR, team=other),
    }
    all_rows = rows.make_rows(people[Persona.ADMINISTRATOR])
    Endpoint.objects.update(team=team)
    entry = _make_audit_entry(Endpoint.objects.get(pk=all_rows.endpoint.pk))
    return World(
        all_rows,
        entry,
        cookies={persona: _make_cookie(person) for persona, person in people.items()},
        tokens={persona: _make_token(person) for persona, person in people.items()},
        client=Client(raise_request_exception=False),
    )


def _make_audit_entry(endpoint: Endpoint) -> int:
    """Create an audit entry while the endpoint belongs to the team."""
    notes.add_note(endpoint, at=None, text="zeta-1", by=None)
    link_now()
    return AuditEntry.objects.latest("id").pk


def _make_token(person: User) -> str:
    """A token with every scope, whatever its owner may do: only their rights limit it."""
    issued = tokens.issue_token(
        name="all", scopes=Scope.values, by=User.objects.get(username="root")
    )
    ApiToken.objects.filter(pk=issued.token.pk).update(created_by=person)
    return issued.text


def _make_cookie(person: User) -> str:
    client = Client()
    client.force_login(person)
    return client.cookies[settings.SESSION_COOKIE_NAME].value


def send_and_roll_back(
    client: Client, method: str, path: str, data: str, **options: Any
) -> HttpResponseBase:
    """The response; all changes are rolled back."""
    with transaction.atomic():
        answer = client.generic(method, path, data, **options)
        transaction.set_rollback(True)
    return answer
