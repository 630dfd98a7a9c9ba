"""Every page of the product, and rows to fill them."""

from __future__ import annotations

from datetime import timedelta

from django.contrib.auth.models import User
from django.urls import reverse
from django.utils import timezone

from dashboard.models import Attempt, AuditEntry, Endpoint, RolloutRequest
from dashboard.models.people import Role, Scope
from dashboard.notifications.services import maintenance
from dashboard.people.services import people, teams, tokens
from dashboard.people.services.people import InvitedRights
from dashboard.trust import modes, rollout_requests, tool_rules
from health.modes import Mode
from health.risk import Risk
from tests.dashboard.incidents.builders import degrade
from tests.dashboard.notifications.builders import make_webhook
from tests.dashboard.rollouts.profile_builders import (
    ease_gates,
    make_ready,
    make_request,
    swap_template,
)
from tests.factories import (
    make_attempt,
    make_endpoint,
    make_finished_run,
    make_person,
    make_run,
)

# URLs that answer with a part of a page, a file, a redirect, or data for machines.
NOT_PAGES = frozenset(
    {
        "attempt-bundle",
        "attempt-chunks",
        "attempt-difference",
        "attempt-raw",
        "audit-export",
        "compare-export",
        "channel-test",
        "deliveries",
        "delivery-result",
        "delivery-retry",
        "demo-hide",
        "demo-start",
        "design-toast",
        "endpoint-chart",
        "endpoint-export",
        "endpoint-modes",
        "endpoint-new-try",
        "endpoint-notes",
        "endpoint-points",
        "endpoint-policy",
        "endpoint-probe",
        "endpoint-run",
        "endpoint-runs",
        "endpoint-try",
        "export",
        "fleet-rows",
        "healthz",
        "incident-acknowledge",
        "incident-release",
        "language",
        "login-code",
        "login-oidc",
        "login-oidc-back",
        "login-passkey",
        "logout",
        "maintenance-cancel",
        "metrics",
        "mode-off",
        "mode-release",
        "nearby",
        "note-remove",
        "passkey-options",
        "person-deactivate",
        "person-grants",
        "person-password",
        "person-reactivate",
        "person-role",
        "person-withdraw",
        "person-second-factor",
        "person-unlock",
        "readyz",
        "rollout-ask",
        "rollout-decide",
        "rollout-withdraw",
        "run-attempts",
        "run-bundle",
        "run-cancel",
        "run-progress",
        "team-endpoints",
        "security-codes",
        "security-link",
        "security-remove",
        "security-unlink",
        "session-end",
        "tool-rule-move",
        "tool-rule-remove",
    }
)
# Pages that exist before anything is registered.
EMPTY = (
    "fleet",
    "incidents",
    "rollouts",
    "gates",
    "compare",
    "audit",
    "endpoint-new",
    "channels",
    "channel-new",
    "tool-rules",
    "maintenance",
    "tokens",
    "system",
    "settings",
    "retention",
    "password",
    "security",
    "sessions",
    "confirm",
    "people",
    "teams",
    "demo",
    "import",
)
EXCHANGE = {
    "label": "the question",
    "request": {"method": "POST", "url": "http://127.0.0.1:9/v1", "body": '{"model": "m-1"}'},
    "reply": {
        "status": 200,
        "headers": {"content-type": "application/json"},
        "chunks": [{"ms": 1, "text": '{"choices": []}'}],
        "bytes": 15,
    },
    "calls": [{"id": "1", "name": "probe_echo", "input": {"message": "x"}, "repairs": []}],
    "error": "",
}
FINDING = {"kind": "wrong_value", "message": "tag should be alpha", "path": "/tag"}


def fill_database() -> dict[str, list[str]]:
    """Create rows of every kind with the services; returns the URLs of every page by name."""
    alice = User.objects.get(username="alice")
    steady, fallen = make_endpoint(), make_endpoint(slug="fallen", provider="anthropic")
    incident = degrade(fallen)
    modes.switch_on(
        steady.profile, Mode.NO_PARALLEL, by=alice, reason="two at once stumble", lasts=None
    )
    attempt = _make_attempts(steady)
    make_run(steady)
    token = tokens.issue_token(name="ci", scopes=[Scope.READ.value], lasts=None, by=alice).token
    channel = make_webhook("http://127.0.0.1:9/hook").channel
    rule = tool_rules.add_rule(pattern="read_*", risk=Risk.READ, note="files", by=alice)
    soon = timezone.now() + timedelta(hours=1)
    maintenance.plan_window(steady, soon, soon + timedelta(hours=1), by=alice, reason="new engine")
    requests = _make_requests(alice)
    endpoint_args, channel_args = {"slug": steady.slug}, {"channel_id": channel.pk}
    addresses: dict[str, list[str]] = {name: [reverse(name)] for name in (*EMPTY, "login")}
    addresses |= {
        name: [reverse(name, kwargs=endpoint_args)]
        for name in ("endpoint", "endpoint-edit", "endpoint-remove")
    }
    addresses["endpoint"] += [f"/endpoints/{fallen.slug}/?range=all"]
    addresses["compare"] += [f"/compare/?endpoint={steady.slug}&endpoint={fallen.slug}"]
    addresses |= {
        name: [reverse(name, kwargs=channel_args)]
        for name in ("channel-edit", "channel-remove", "channel-rotate")
    }
    addresses["endpoint-accept"] = [reverse("endpoint-accept", args=[fallen.slug, "parse_success"])]
    addresses["audit-entry"] = [reverse("audit-entry", args=[AuditEntry.objects.latest("id").pk])]
    addresses["rollout"] = [request.get_absolute_url() for request in requests]
    addresses["rollout-step-back"] = [reverse("rollout-step-back", args=["swapped"])]
    addresses["endpoint"] += ["/endpoints/swapped/"]
    addresses["incident"] = [reverse("incident", args=[incident.pk])]
    addresses["run"] = [reverse("run", args=[attempt.run_id])]
    addresses["attempt"] = [reverse("attempt", args=[attempt.run_id, attempt.probe, attempt.trial])]
    addresses["token-revoke"] = [reverse("token-revoke", args=[token.prefix])]
    addresses["tool-rule"] = [reverse("tool-rule", args=[rule.pk])]
    addresses["demo-remove"] = [reverse("demo-remove")]
    addresses["person"] = [reverse("person", args=[alice.pk])]
    addresses["security-app"] = [reverse("security-app")]
    addresses["security-passkey-new"] = [reverse("security-passkey-new")]
    addresses["design"] = [reverse("design")]
    return addresses | _make_people_and_teams(alice, steady)


def _make_people_and_teams(by: User, endpoint: Endpoint) -> dict[str, list[str]]:
    team, empty = (teams.create_team(name=name, by=by) for name in ("Search", "Ops"))
    teams.move_endpoints([endpoint], team=team, by=by)
    rights = InvitedRights(roles=[Role.OPERATOR, Role.APPROVER], team=team)
    link = people.invite_person(username="carl", rights=rights, by=by)
    grant = link.person.grants.order_by("pk")[0]
    return {
        "person": [reverse("person", args=[row.pk]) for row in (by, link.person)],
        "grant-take": [reverse("grant-take", args=[link.person.pk, grant.pk])],
        "team": [reverse("team", args=[row.pk]) for row in (team, empty)],
        "team-remove": [reverse("team-remove", args=[team.pk])],
        "invitation": [reverse("invitation", args=[link.text])],
    }


def _make_requests(alice: User) -> list[RolloutRequest]:
    """One approved request, one pending next to a profile in force, one for a pinned mode."""
    bob = make_person("bob", Role.APPROVER)
    ease_gates()
    swapped = make_ready(slug="swapped")
    decided = make_request(swapped, alice)
    rollout_requests.approve(decided, by=bob, reason="it does")
    swap_template(swapped, stage="write")
    make_ready(slug="ready")
    reason = "nobody writes tonight"
    profile = swapped.profile_in_force
    pinned = modes.switch_on(profile, Mode.READ_ONLY_TOOLS, by=bob, reason=reason, pinned=True)
    unpin = rollout_requests.request_unpin(pinned, by=alice, reason="the night is over")
    return [decided, make_request(swapped, alice), unpin]


def _make_attempts(endpoint: Endpoint) -> Attempt:
    for hours in (30, 20, 10):
        make_finished_run(endpoint, failed=1, at=timezone.now() - timedelta(hours=hours))
    run = make_finished_run(endpoint, passed=1, failed=1)
    make_attempt(run, probe="schema", evidence={"exchanges": [EXCHANGE], "findings": []})
    failed = {"exchanges": [EXCHANGE], "findings": [FINDING]}
    return make_attempt(run, outcome="fail", findings=[FINDING], evidence=failed)
