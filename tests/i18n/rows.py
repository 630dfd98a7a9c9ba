"""One of everything that pages show, so that every text of theirs occurs."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.contrib.auth.models import User
from django.db.models.functions import Now
from django.utils import timezone

from dashboard.core import account_requirements, partitions
from dashboard.endpoints.as_code.fields import FIELDS, KEY_FIELD
from dashboard.models import (
    AuditEntry,
    Channel,
    Delivery,
    Endpoint,
    Incident,
    Invitation,
    Note,
    Profile,
    RollupHour,
    Run,
    Team,
)
from dashboard.models.people import Role
from dashboard.notifications.services import channels, maintenance
from dashboard.people.services import people, teams, tokens
from dashboard.people.services.people import InvitedRights
from dashboard.runs.observations import PROBE
from dashboard.trust import modes, tool_rules
from health.modes import Mode
from health.observation_bits import PLACES
from health.risk import Risk
from probes.outcomes import Metric
from tests.dashboard.incidents.builders import degrade
from tests.dashboard.notifications.builders import make_notice, make_webhook
from tests.dashboard.system.builders import make_old_worker
from tests.factories import make_endpoint, make_person
from tests.i18n import endpoint_rows, rollout_rows, run_rows
from tests.security.people import add_app

# Names of people, vendors and machines: the same in every language.
DATA = (
    *("alice", "steady-one", "steady-two", "well-one", "zeta-1", "tool-probe-v2", "host-1"),
    *endpoint_rows.OTHERS,
    *rollout_rows.DATA,
    # Codes, and Python's messages about invalid JSON.
    *(mode.value for mode in Mode),
    *(*FIELDS, KEY_FIELD, "version", "endpoints", "/api/v1/openapi.json"),
    *("openai", "'model'", "new", "Bash", "Claude Code", "https", "opanai", "zeta", "steady"),
    "Expecting property name enclosed in double quotes",
)
_FIGURES = {"trials": 12, "agree": 11, "low": 0.6, "high": 0.99, "evidence": ["format/1"]}


@dataclass(frozen=True, slots=True)
class Rows:
    endpoint: Endpoint
    run: Run
    active: Run
    stopped: Sequence[Run]
    incident: Incident
    ended: Sequence[Incident]
    note: int
    switch: int
    automatic: int
    window: int
    me: int
    person: int
    rule: int
    token: str
    webhook: Channel
    delivery: int
    team: int
    grant: int
    invitation: str
    factor: int
    requests: Sequence[int]
    pinned: int
    entry: int

    @property
    def others(self) -> Sequence[str]:
        return endpoint_rows.OTHERS

    @property
    def trials(self) -> Sequence[int]:
        return run_rows.TRIALS


def make_rows(person: User) -> Rows:
    endpoint = _make_endpoint("steady-one", 3)
    _make_endpoint("steady-two", 0)
    ended = endpoint_rows.make_other_endpoints(person)
    incident = degrade(endpoint)
    run, stopped = run_rows.make_runs(endpoint, person)
    endpoint_rows.record_changes(endpoint, run, person)
    switch = modes.switch_on(
        endpoint.profile, Mode.NO_PARALLEL, reason="zeta-1", by=person, lasts=timedelta(hours=8)
    )
    tool_rules.add_rule(pattern="steady-*", risk=Risk.WRITE, note="zeta-1", by=person)
    rule = tool_rules.add_rule(pattern="zeta-*", risk=Risk.READ, note="", by=person)
    make_old_worker("host-1", timedelta(hours=2))
    window = _make_windows(endpoint, person)
    webhook, delivery = _make_deliveries(endpoint, person)
    grant = make_person("steady-one", Role.VIEWER, team=_make_teams(person)).grants.get()
    requests, pinned = rollout_rows.make_requests(person)
    return Rows(
        endpoint=endpoint,
        run=run,
        active=run_rows.make_active_run(Endpoint.objects.get(slug="steady-two"), person),
        stopped=stopped,
        incident=incident,
        ended=ended,
        note=Note.objects.get().pk,
        switch=switch.pk,
        automatic=incident.switches.order_by("pk")[0].pk,
        window=window,
        me=person.pk,
        person=grant.person_id,
        rule=rule.pk,
        token=_make_tokens(person),
        webhook=webhook,
        delivery=delivery,
        team=Team.objects.get(name="zeta-1").pk,
        grant=grant.pk,
        invitation=_make_invitation(person),
        factor=_make_factor(person),
        requests=requests,
        pinned=pinned,
        entry=AuditEntry.objects.latest("id").pk,
    )


def _make_factor(person: User) -> int:
    add_app(person)
    return int(account_requirements.find_factors(person).get().pk)


def _make_endpoint(slug: str, failures: int) -> Endpoint:
    endpoint = make_endpoint(slug=slug, model="zeta-1", options={"zeta": 1}, daily_requests=500)
    at = timezone.now() - timedelta(hours=2)
    partitions.ensure_months([at.date()], parents=partitions.ROLLUPS)
    RollupHour.objects.create(
        profile_id=endpoint.profile.pk,
        metric=PLACES[Metric.PARSE_SUCCESS],
        lane=PROBE,
        bucket=at.replace(minute=0, second=0, microsecond=0),
        trials=10,
        failures=failures,
    )
    Profile.objects.filter(endpoint=endpoint).update(
        capabilities=_capabilities(), fingerprint=dict.fromkeys(("via", "models_hash"), "zeta-1")
    )
    return endpoint


def _capabilities() -> dict[str, Any]:
    values = {
        "schema_level": "strict_json_schema",
        "tool_call_format": "json_text",
        "parser": None,
        "supports_parallel_tool_use": True,
        "supports_streaming_tool_use": False,
        "reasoning_replay": "required_same_turn",
        "error_repair": "limited",
        "tool_choice": ["auto"],
        "parallel_switch": "ignored",
        "trimmed_history": "taken",
        "accepts": {"strict": True, "developer": False, "unknown_parameter": None},
        "id_forms": {"openai": "taken", "long": "refused", "punctuated": True},
        "violations": {"orphan": "closure_orphan", "missing": "taken", "duplicate": "id_format"},
    }
    return {name: {"value": value, **_FIGURES} for name, value in values.items()}


def _make_windows(endpoint: Endpoint, person: User) -> int:
    now = timezone.now()
    active, _, over = (
        maintenance.plan_window(
            endpoint=of,
            starts_at=now + timedelta(hours=begins),
            ends_at=now + timedelta(hours=ends),
            reason="zeta-1",
            by=person,
        )
        for begins, ends, of in ((-1, 1, endpoint), (2, 3, None), (4, 5, endpoint))
    )
    maintenance.cancel_window(over, by=person)
    return active.pk


def _make_teams(person: User) -> Team:
    team = teams.create_team(name="zeta-1", by=person)
    teams.move_endpoints([Endpoint.objects.get(slug="steady-two")], team=team, by=person)
    teams.create_team(name="steady-two", by=person)
    return team


def _make_invitation(person: User) -> str:
    """One open link, and invited people in other states."""
    rights = InvitedRights(roles=[Role.OPERATOR, Role.APPROVER])
    waits, late = (
        people.invite_person(username=name, email="zeta-1@host-1.test", rights=rights, by=person)
        for name in ("well-one", "zeta-1")
    )
    Invitation.objects.filter(person=late.person).update(expires_at=Now())
    return waits.text


def _make_tokens(person: User) -> str:
    issued = [
        tokens.issue_token(name="zeta-1", scopes=["read"], lasts=lasts, by=person).token
        for lasts in (None, timedelta(days=30), timedelta(days=90))
    ]
    tokens.revoke_token(issued[2])
    issued[1].expires_at = Now() - timedelta(days=1)
    issued[1].save(update_fields=["expires_at"])
    return issued[0].prefix


def _make_deliveries(endpoint: Endpoint, person: User) -> tuple[Channel, int]:
    webhook = make_webhook("https://zeta-1/hook", name="zeta-1").channel
    off = make_webhook("https://zeta-1/hook", name="steady-two", enabled=False).channel
    channels.send_test(webhook, by=person)
    notices = [make_notice(endpoint, title="zeta-1") for _ in range(2)]
    for state in Delivery.State.values:
        delivery = Delivery.objects.create(
            channel=off if state == "dropped" else webhook,
            state=state,
            tries=1,
            last_error="zeta-1",
            webhook_id=uuid.uuid4(),
        )
        delivery.notices.set(notices)
    return webhook, Delivery.objects.get(state="sent").pk
