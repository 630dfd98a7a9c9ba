"""No page says anything that the catalogue does not hold."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from dashboard.models import Channel, Endpoint, Incident, Run
from dashboard.urls import urlpatterns
from tests.i18n import pseudo, rows
from tests.i18n.reading import unmarked
from tests.i18n.rows import Rows

# What answers a program, or does something and then shows another page.
NO_PAGES = {
    "channel-test",
    "compare-export",
    "delivery-retry",
    "endpoint-probe",
    "healthz",
    "incident-acknowledge",
    "incident-release",
    "language",
    "logout",
    "maintenance-cancel",
    "metrics",
    "mode-off",
    "readyz",
    "run-cancel",
    "tool-rule-move",
    "tool-rule-remove",
}
# Their texts are marked by and by; at the end nothing is left here.
NOT_YET = (
    "attempt",
    "endpoint",
    "endpoint-accept",
    "endpoint-chart",
    "endpoint-edit",
    "endpoint-modes",
    "endpoint-new",
    "endpoint-policy",
    "endpoint-remove",
    "endpoint-run",
    "endpoint-runs",
    "fleet",
    "fleet-rows",
    "incident",
    "incidents",
    "login",
    "run",
    "run-attempts",
    "run-progress",
)
NOT_YET_PARTS = ("a.skip", "header.top", "nav.tabs", "span.optional")


def visits(made: Rows) -> dict[str, list[str]]:
    """The addresses to look at, by the name of each page."""
    slug, run, incident = made.endpoint.slug, made.run.pk, made.incident.pk
    endpoint, channel = f"/endpoints/{slug}/", f"/settings/channels/{made.webhook.pk}/"
    both = "endpoint=steady-one&endpoint=steady-two"
    return {
        "fleet": ["/"],
        "fleet-rows": ["/fleet/rows/"],
        "endpoint-new": ["/endpoints/new/"],
        "endpoint": [endpoint, "/endpoints/idle-one/"],
        "endpoint-edit": [f"{endpoint}edit/"],
        "endpoint-remove": [f"{endpoint}remove/"],
        "endpoint-runs": [f"{endpoint}runs/"],
        "endpoint-run": [f"{endpoint}run/"],
        "endpoint-chart": [f"{endpoint}chart/"],
        "endpoint-policy": [f"{endpoint}policy/"],
        "endpoint-modes": [f"{endpoint}modes/"],
        "endpoint-accept": [f"{endpoint}accept/parse_success/"],
        "incidents": ["/incidents/", "/incidents/?state=accepted"],
        "incident": [f"/incidents/{incident}/"],
        "compare": [
            "/compare/",
            "/compare/?span=last",
            "/compare/?tab=capabilities",
            f"/compare/?{both}&range=30d",
            f"/compare/?{both}&metric=leak&range=all",
            "/compare/?endpoint=steady-one",
            "/compare/?endpoint=gone",
            "/compare/?q=nothing",
        ],
        "run": [f"/runs/{run}/", f"/runs/{made.active.pk}/"],
        "run-progress": [f"/runs/{run}/progress/"],
        "run-attempts": [f"/runs/{run}/attempts/"],
        "attempt": [f"/runs/{run}/attempts/format/1/"],
        "tokens": ["/settings/tokens/"],
        "token-revoke": [f"/settings/tokens/{made.token}/revoke/"],
        "maintenance": ["/settings/maintenance/"],
        "tool-rules": ["/settings/tools/", "/settings/tools/?name=Bash", "/settings/tools/?name="],
        "tool-rule": [f"/settings/tools/{made.rule}/"],
        "channels": ["/settings/channels/"],
        "channel-new": ["/settings/channels/new/"],
        "channel-edit": [channel],
        "channel-remove": [f"{channel}remove/"],
        "channel-rotate": [f"{channel}secret/"],
        "deliveries": ["/settings/deliveries/"],
        "delivery-result": [f"/settings/deliveries/{made.delivery}/"],
        "system": ["/settings/system/"],
        "login": ["/login/"],
    }


# Forms that are sent and come back, with what is wrong in them.
ANSWERS: dict[str, list[dict[str, str]]] = {
    "channel-new": [{}, {"name": "zeta-1", "kind": "webhook", "url": "ftp://x"}],
    "channel-rotate": [{}],
    "maintenance": [{}, {"endpoint": "gone", "reason": " ", "starts_at": "x"}],
    "tokens": [{}, {"name": "zeta-1", "scopes": "read", "lasts": "30"}],
    "tool-rule": [{}],
    "tool-rules": [{}, {"pattern": "zeta-*", "risk": "read"}],
}


@pytest.fixture
def strangers_client(client: Client, db: None, settings: Any, tmp_path: Path) -> Client:
    """A browser that reads the made-up language alone, of an administrator."""
    pseudo.write(tmp_path)
    settings.LOCALE_PATHS = [tmp_path]
    settings.LANGUAGES = [*settings.LANGUAGES, (pseudo.CODE, "Esperanto")]
    client.defaults["HTTP_ACCEPT_LANGUAGE"] = pseudo.CODE
    client.force_login(User.objects.create_superuser("alice"))
    return client


def test_every_address_is_a_page_to_look_at_or_none() -> None:
    """Whoever adds one says here how to look at it."""
    names = {str(pattern.name) for pattern in urlpatterns}

    assert names == NO_PAGES | set(visits(_no_rows()))


@pytest.mark.usefixtures("static_files")
def test_no_page_says_what_was_never_translated(strangers_client: Client) -> None:
    """Every text, label, tooltip and chart title comes out of the catalogue."""
    made = rows.make(User.objects.get())
    found: dict[str, list[str]] = {}
    for name, paths in visits(made).items():
        for path in paths if name not in NOT_YET else ():
            found[path] = _look(strangers_client, path)
        for given in ANSWERS.get(name, ()):
            found[f"{paths[0]} {given}"] = _look(strangers_client, paths[0], given)

    assert {path: texts for path, texts in found.items() if texts} == {}


def _no_rows() -> Rows:
    endpoint, run = Endpoint(slug="x"), Run(pk=1)
    return Rows(
        endpoint=endpoint,
        run=run,
        active=run,
        incident=Incident(pk=1),
        rule=1,
        token="x",
        webhook=Channel(pk=1),
        delivery=1,
    )


def _look(client: Client, path: str, given: dict[str, str] | None = None) -> list[str]:
    answer = client.get(path) if given is None else client.post(path, given, follow=True)
    assert answer.status_code == 200, path
    assert answer.headers["Content-Language"] == pseudo.CODE
    return unmarked(answer.content.decode(), data=rows.DATA, but=NOT_YET_PARTS)
