"""Visits of every page: its URLs, and forms that are shown again with errors."""

from __future__ import annotations

from dataclasses import dataclass, field

from tests.dashboard.endpoints.as_code.builders import NEW, STEADY
from tests.i18n.rows import Rows

# Views that answer programs, send files, or redirect after an action.
NOT_PAGES = {
    "attempt-bundle",
    "attempt-raw",
    "channel-test",
    "audit-export",
    "compare-export",
    "delivery-retry",
    "demo-hide",
    "endpoint-export",
    "export",
    "healthz",
    "language",
    "login-oidc",
    "login-oidc-back",
    "logout",
    "passkey-options",
    "security-link",
    "security-unlink",
    "metrics",
    "readyz",
    "run-bundle",
    "tool-rule-move",
    "tool-rule-remove",
    # For developers, only with DEBUG.
    "design",
    "design-toast",
}
_HTMX = {"HX-Request": "true"}
_FAR = "2099-01-01T00:00"
_LONG = "a long enough sentence 7"
_NO_SESSION = "00000000-0000-0000-0000-000000000000"


@dataclass(frozen=True, slots=True)
class Visit:
    """One request: its path, the data of a form, and its headers."""

    path: str
    data: dict[str, str] | None = None
    headers: dict[str, str] = field(default_factory=dict)


def page_visits(rows: Rows) -> dict[str, list[Visit]]:
    """The visits of every page, by URL name."""
    slug, incident = rows.endpoint.slug, rows.incident.pk
    endpoint, channel = f"/endpoints/{slug}/", f"/settings/channels/{rows.webhook.pk}/"
    return {
        **_fleet_visits(),
        **_endpoint_visits(endpoint, rows),
        **_run_visits(rows),
        **_rollout_visits(rows),
        "incidents": _get_visits(
            "/incidents/",
            "/incidents/?state=accepted",
            "/incidents/?severity=1&endpoint=idle-one",
            "/incidents/?state=x&page=x",
        ),
        "incident": _get_visits(
            *(f"/incidents/{each.pk}/" for each in (rows.incident, *rows.ended))
        ),
        "incident-acknowledge": [Visit(f"/incidents/{incident}/acknowledge/", {"note": ""})] * 2,
        "incident-release": [
            Visit(f"/incidents/{incident}/release/", {"reason": reason})
            for reason in ("", "zeta-1")
        ],
        "tokens": [
            *_get_visits("/settings/tokens/"),
            Visit("/settings/tokens/", {}),
            Visit("/settings/tokens/", {"name": "zeta-1", "scopes": "read", "lasts": "30"}),
        ],
        "token-revoke": _get_visits(f"/settings/tokens/{rows.token}/revoke/"),
        "maintenance": [
            *_get_visits("/settings/maintenance/"),
            Visit("/settings/maintenance/", {}),
            Visit("/settings/maintenance/", {"endpoint": "gone", "reason": " ", "starts_at": "x"}),
        ],
        "maintenance-cancel": [Visit(f"/settings/maintenance/{rows.window}/cancel/", {})],
        "tool-rules": [
            *_get_visits(
                "/settings/tools/", "/settings/tools/?name=Bash", "/settings/tools/?name="
            ),
            Visit("/settings/tools/", {}),
            Visit("/settings/tools/", {"pattern": "zeta-*", "risk": "read"}),
        ],
        "tool-rule": [
            *_get_visits(f"/settings/tools/{rows.rule}/"),
            Visit(f"/settings/tools/{rows.rule}/", {}),
        ],
        "channels": _get_visits("/settings/channels/"),
        "channel-new": [
            *_get_visits("/settings/channels/new/"),
            Visit("/settings/channels/new/", {}),
            Visit(
                "/settings/channels/new/", {"name": "zeta-1", "kind": "webhook", "url": "ftp://x"}
            ),
        ],
        "channel-edit": _get_visits(channel),
        "channel-remove": _get_visits(f"{channel}remove/"),
        "channel-rotate": [*_get_visits(f"{channel}secret/"), Visit(f"{channel}secret/", {})],
        "deliveries": _get_visits("/settings/deliveries/"),
        "delivery-result": _get_visits(f"/settings/deliveries/{rows.delivery}/"),
        "audit": _get_visits(
            "/audit/", "/audit/?actor=nobody", "/audit/?action=endpoint.&since=2020-01-01"
        ),
        "audit-entry": _get_visits(f"/audit/{rows.entry}/"),
        "settings": _get_visits("/settings/"),
        "retention": _get_visits("/settings/retention/"),
        "import": _import_visits(),
        "system": _get_visits("/settings/system/"),
        "demo": _get_visits("/settings/demo/"),
        "demo-remove": _get_visits("/settings/demo/remove/"),
        "demo-start": [Visit("/settings/demo/start/", {})] * 2,
        **_people_visits(rows),
    }


def empty_pages() -> list[Visit]:
    """Pages of an empty installation."""
    paths = ("channels", "deliveries", "maintenance", "tokens", "demo", "retention", "system")
    return _get_visits(
        *("/", "/incidents/", "/rollouts/", "/settings/gates/", "/compare/", "/audit/"),
        *("/first-run/nearby/", "/settings/teams/"),
        *(f"/settings/{path}/" for path in paths),
    )


def public_pages() -> list[Visit]:
    """Pages before the sign-in."""
    wrong = {"username": "zeta-1", "password": "zeta-1"}
    return [
        *_get_visits("/login/", "/login/?next=/settings/"),
        Visit("/login/", {}),
        Visit("/login/", wrong),
        Visit("/login/passkey/", {"credential": "x"}),
    ]


def _fleet_visits() -> dict[str, list[Visit]]:
    both = "endpoint=steady-one&endpoint=steady-two"
    return {
        "fleet": _get_visits(
            "/",
            "/?group=stage",
            "/?group=tag&sort=-last",
            "/?status=off&provider=openai&model=zeta-1&tag=zeta-1&stage=shadow&q=zeta",
            "/?status=x&sort=x&page=x&group=x&stage=x&provider=x",
            "/?q=nothing",
        ),
        "fleet-rows": _get_visits("/fleet/rows/", "/fleet/rows/?seen=steady-one.x"),
        "nearby": _get_visits("/first-run/nearby/"),
        "compare": _get_visits(
            "/compare/",
            "/compare/?span=last",
            "/compare/?tab=capabilities",
            f"/compare/?{both}&range=30d",
            f"/compare/?{both}&metric=leak&range=all",
            "/compare/?endpoint=steady-one",
            "/compare/?endpoint=gone",
            "/compare/?q=nothing",
        ),
    }


def _endpoint_visits(endpoint: str, rows: Rows) -> dict[str, list[Visit]]:
    note = f"{endpoint}notes/{rows.note}/remove/"
    mode, off = {"mode": "no_tools", "reason": "zeta-1"}, f"{endpoint}modes/{rows.switch}/off/"
    mode_off = f"{endpoint}modes/{rows.automatic}/off/"
    return {
        "endpoint": _get_visits(endpoint, *(f"/endpoints/{slug}/" for slug in rows.others)),
        "endpoint-new": [
            *_get_visits("/endpoints/new/", "/endpoints/new/?preset=ollama&model=zeta-1"),
            Visit("/endpoints/new/", {}),
            *(Visit("/endpoints/new/", data) for data in _ENDPOINTS),
        ],
        "endpoint-new-try": [
            Visit("/endpoints/new/try/", data, headers)
            for data, headers in (
                ({}, _HTMX),
                ({**_ENDPOINTS[1], "key": "zeta-1"}, {}),
                (_ENDPOINTS[1], _HTMX),
            )
        ],
        "endpoint-edit": [
            *_get_visits(f"{endpoint}edit/"),
            Visit(f"{endpoint}edit/", {"seen": "x"}),
        ],
        "endpoint-try": [Visit(f"{endpoint}try/", _ENDPOINTS[1], _HTMX)],
        "endpoint-remove": _get_visits(f"{endpoint}remove/"),
        "endpoint-runs": _get_visits(
            f"{endpoint}runs/", f"{endpoint}runs/?state=x&trigger=x", "/endpoints/idle-one/runs/"
        ),
        "endpoint-run": _get_visits(f"{endpoint}run/", "/endpoints/idle-one/run/?seen=x"),
        "endpoint-probe": [
            *_get_visits(
                f"{endpoint}probe/", "/endpoints/idle-one/probe/", "/endpoints/spent-one/probe/"
            ),
            Visit(f"{endpoint}probe/", None, _HTMX),
            Visit("/endpoints/spent-one/probe/", {"suite": "full"}, _HTMX),
            Visit(f"{endpoint}probe/", {"suite": "full"}, _HTMX),
        ],
        "endpoint-chart": _get_visits(
            *(f"{endpoint}chart/?range={span}" for span in ("7d", "all", "x")),
            f"{endpoint}chart/?metric=leak",
            f"{endpoint}chart/?metric=ttft&range=7d",
            f"{endpoint}chart/?metric=latency&range=7d",
            f"{endpoint}chart/?from=x&until=y&metric=x",
            "/endpoints/idle-one/chart/",
        ),
        "endpoint-points": _get_visits(
            f"{endpoint}chart/points/", "/endpoints/idle-one/chart/points/"
        ),
        "endpoint-notes": [
            *_get_visits(f"{endpoint}notes/"),
            Visit(f"{endpoint}notes/", {}, _HTMX),
            Visit(f"{endpoint}notes/", {"text": "zeta-1", "link": "javascript:x"}, _HTMX),
            Visit(f"{endpoint}notes/", {"text": "zeta-1", "at": "x"}, _HTMX),
            Visit(f"{endpoint}notes/", {"text": "zeta-1", "at": _FAR}, _HTMX),
            Visit(f"{endpoint}notes/", {"text": "zeta-1"}, _HTMX),
        ],
        "note-remove": [Visit(note, {}, _HTMX), Visit(note, {}, _HTMX)],
        "endpoint-policy": _get_visits(f"{endpoint}policy/"),
        "endpoint-modes": [
            *_get_visits(
                f"{endpoint}modes/", f"{endpoint}modes/?seen=x", "/endpoints/idle-one/modes/"
            ),
            Visit(f"{endpoint}modes/", {}, _HTMX),
            Visit(f"{endpoint}modes/", {**mode, "until": "2020-01-01T00:00"}, _HTMX),
            Visit(f"{endpoint}modes/", {**mode, "lasts": "x"}, _HTMX),
            Visit(f"{endpoint}modes/", {**mode, "lasts": "8h"}, _HTMX),
            Visit(f"{endpoint}modes/", {**mode, "lasts": "8h"}, _HTMX),
        ],
        "mode-off": [
            Visit(off, {}, _HTMX),
            Visit(off, {}, _HTMX),
            Visit(mode_off, {}, _HTMX),
            Visit(mode_off, {"reason": "zeta-1"}, _HTMX),
        ],
        "endpoint-accept": [
            *_get_visits(f"{endpoint}accept/parse_success/", f"{endpoint}accept/closure_error/"),
            Visit(f"{endpoint}accept/parse_success/", {}),
            Visit(f"{endpoint}accept/closure_error/", {"reason": "zeta-1"}),
        ],
    }


def _run_visits(rows: Rows) -> dict[str, list[Visit]]:
    run, attempt = f"/runs/{rows.run.pk}/", f"/runs/{rows.run.pk}/attempts/format/"
    stopped = [f"/runs/{stopped_run.pk}/" for stopped_run in rows.stopped]
    active = f"/runs/{rows.active.pk}/"
    return {
        "run": _get_visits(run, active, *stopped[:1], *stopped[-1:], f"{run}?outcome=x"),
        "run-progress": _get_visits(*(f"{path}progress/" for path in (run, active, *stopped))),
        "run-attempts": _get_visits(f"{run}attempts/", f"{run}attempts/?outcome=void"),
        "run-cancel": [Visit(f"{run}cancel/", {}, _HTMX)],
        "attempt": [
            *_get_visits(*(f"{attempt}{trial}/" for trial in rows.trials)),
            Visit(f"{attempt}1/?show=all", None, _HTMX),
        ],
        "attempt-difference": _get_visits(
            *(f"{attempt}{trial}/difference/" for trial in rows.trials[:3]),
            f"{attempt}1/difference/?as=raw",
        ),
        "attempt-chunks": [
            *_get_visits(f"{attempt}1/1/chunks/", f"{attempt}1/2/chunks/"),
            Visit(f"{attempt}1/1/chunks/", None, _HTMX),
        ],
    }


def _people_visits(rows: Rows) -> dict[str, list[Visit]]:
    person, me = f"/settings/people/{rows.person}/", f"/settings/people/{rows.me}/"
    team, link = f"/settings/teams/{rows.team}/", f"/invitations/{rows.invitation}/"
    wrong = {"old_password": "x", "new_password1": "1", "new_password2": "2"}
    return {
        "login": [],
        "password": [*_get_visits("/settings/password/"), Visit("/settings/password/", wrong)],
        "login-code": [],
        "login-passkey": [],
        "confirm": [*_get_visits("/confirm/"), Visit("/confirm/", {"password": "x"})],
        "security": _get_visits("/settings/security/"),
        "security-app": [
            *_get_visits("/settings/security/app/"),
            Visit("/settings/security/app/", {"code": "1"}),
        ],
        "security-passkey-new": [
            *_get_visits("/settings/security/passkeys/new/"),
            Visit("/settings/security/passkeys/new/", {"name": "zeta-1"}),
        ],
        "security-remove": [Visit(f"/settings/security/{rows.factor}/remove/", {})],
        "security-codes": [Visit("/settings/security/codes/", {})] * 2,
        "sessions": [*_get_visits("/settings/sessions/"), Visit("/settings/sessions/", {})],
        "session-end": [Visit(f"/settings/sessions/{_NO_SESSION}/end/", {})],
        "person-unlock": [Visit(f"{person}unlock/", {})],
        "person-second-factor": [Visit(f"{person}second-factor/", {})] * 2,
        "people": [
            *_get_visits("/settings/people/", "/settings/people/?q=gone"),
            Visit("/settings/people/", {}),
            Visit("/settings/people/", {"username": "alice", "roles": "viewer"}),
            Visit("/settings/people/", {"username": "zeta 1", "email": "zeta-1"}),
            Visit("/settings/people/", {"username": "steady-two", "roles": "administrator"}),
        ],
        "person": _get_visits(
            person, me, *(f"/settings/people/{rows.person + n}/" for n in (1, 2))
        ),
        "person-password": [Visit(f"{person}password/", {}), Visit(f"{me}password/", {})],
        "person-grants": [
            Visit(f"{person}grants/", {"role": "viewer"}),
            Visit(f"{person}grants/", {"role": "viewer"}),
            Visit(f"{person}grants/", {"role": "x"}),
            Visit(f"{me}grants/", {"role": "viewer"}),
        ],
        "person-withdraw": [
            Visit(f"{me}withdraw/", {}),
            Visit(f"/settings/people/{rows.person + 2}/withdraw/", {}),
        ],
        "grant-take": [
            *_get_visits(f"{person}grants/{rows.grant}/take/"),
            Visit(f"{person}grants/{rows.grant}/take/", {"reason": "zeta-1"}),
        ],
        "teams": [
            *_get_visits("/settings/teams/"),
            Visit("/settings/teams/", {}),
            Visit("/settings/teams/", {"name": "zeta-1"}),
            Visit("/settings/teams/", {"name": "well-one"}),
        ],
        "team": [
            *_get_visits(team, f"/settings/teams/{rows.team + 1}/"),
            Visit(team, {"name": "steady-two"}),
            Visit(team, {"name": "zeta"}),
        ],
        "team-endpoints": [
            Visit(f"{team}endpoints/", {"endpoint": "steady-one"}),
            Visit(f"{team}endpoints/", {}),
        ],
        "team-remove": [
            *_get_visits(f"{team}remove/", f"/settings/teams/{rows.team + 1}/remove/"),
            Visit(f"{team}remove/", {}),
            Visit(f"/settings/teams/{rows.team + 1}/remove/", {}),
        ],
        "person-role": [
            Visit(f"{person}role/", {"administrator": "yes"}),
            Visit(f"{person}role/", {}),
            Visit(f"{me}role/", {}),
        ],
        "person-deactivate": [
            Visit(f"{me}deactivate/", {}),
            Visit(f"{person}deactivate/", {}),
            Visit(person),
        ],
        "person-reactivate": [Visit(f"{person}reactivate/", {})] * 2,
        # Must be last: following the link signs in another person.
        "invitation": [
            *_get_visits(link),
            Visit(link, {"new_password1": "1", "new_password2": "2"}),
            Visit(link, dict.fromkeys(("new_password1", "new_password2"), _LONG)),
        ],
    }


def _rollout_visits(rows: Rows) -> dict[str, list[Visit]]:
    first = f"/rollouts/{rows.requests[0]}/"
    ask, back = "/endpoints/ready-one/rollout/", "/endpoints/swapped-one/step-back/"
    release = f"/endpoints/swapped-one/modes/{rows.pinned}/release/"
    return {
        "rollouts": _get_visits(
            "/rollouts/",
            "/rollouts/?state=voided",
            "/rollouts/?state=x&endpoint=x&person=x&page=x",
        ),
        "rollout": _get_visits(
            *(f"/rollouts/{request_id}/" for request_id in rows.requests), f"{first}?seen=x"
        ),
        "rollout-decide": [
            Visit(f"{first}decide/", data)
            for data in ({}, {"verdict": "approve"}, {"verdict": "reject", "reason": "zeta-1"})
        ],
        "rollout-withdraw": [Visit(f"/rollouts/{rows.requests[1]}/withdraw/", {})] * 2,
        "rollout-ask": [Visit(ask, {}, _HTMX), Visit(ask, {"reason": "zeta-1"})],
        "rollout-step-back": [
            *_get_visits(back, "/endpoints/idle-one/step-back/"),
            Visit(back, {}),
            Visit(back, {"to": "full", "reason": "zeta-1"}),
        ],
        "mode-release": [Visit(release, {}, _HTMX), Visit(release, {"reason": "zeta-1"}, _HTMX)],
        "gates": [
            *_get_visits("/settings/gates/"),
            Visit("/settings/gates/", {"write-runs": "x", "full-rate_leak": "0"}),
        ],
    }


def _import_visits() -> list[Visit]:
    page, text = "/settings/import/", STEADY + NEW
    broken = STEADY.replace("openai", "opanai") + "    ttl: soon\n    zeta: 1\n    key: x\n"
    forms = (
        {"text": text, "do": "plan", "prune": "on"},
        {"text": text, "do": "plan"},
        {"text": text, "do": "apply", "state": "x"},
        {"text": text, "do": "apply"},
        {"text": broken, "do": "plan"},
        {"text": "", "do": "plan"},
        {"text": "a: &a [*a]", "do": "plan"},
        {"text": "version: 2\nendpoints: []", "do": "plan"},
    )
    return [*_get_visits(page), *(Visit(page, data) for data in forms)]


def _get_visits(*paths: str) -> list[Visit]:
    return [Visit(path) for path in paths]


_ENDPOINTS: tuple[dict[str, str], ...] = (
    {
        "slug": "New",
        "provider": "x",
        "base_url": "ftp://x",
        "model": "zeta-1",
        "key": "a b\u00e9",
        "ttl": "soon",
        "max_concurrency": "0",
        "options": "{",
        "tags": "!",
        "price_input": "-1",
    },
    {
        "slug": "new",
        "provider": "openai",
        "base_url": "http://127.0.0.1:9/v1",
        "model": "zeta-1",
        "ttl": "1m",
        "max_concurrency": "99",
        "options": '{"model": "x"}',
        "daily_requests": "x",
    },
    {
        "slug": "steady-one",
        "provider": "openai",
        "base_url": "http://user:pass@127.0.0.1:9/v1?x",
        "model": "zeta-1",
        "ttl": "6h",
        "max_concurrency": "4",
        "options": "[]",
    },
)
