"""The content of an entry: who, from where, about what, why, and what changed."""

from __future__ import annotations

import hashlib
import json
import os
import pwd
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from cli.main import main
from dashboard.audit import services as audit
from dashboard.charts import services as notes
from dashboard.core import actor_context
from dashboard.core.actor_context import ActorContext, Via
from dashboard.demo.services import fleet
from dashboard.endpoints.services import endpoints
from dashboard.models import AuditEntry, Channel, Endpoint
from dashboard.models.audit import Action
from dashboard.models.people import Role, Team
from dashboard.notifications.services import channels, maintenance
from probes.secret import Secret
from tests.dashboard.audit.builders import all_entries, last_entry
from tests.dashboard.endpoints.as_code.builders import NEW, STEADY
from tests.factories import make_endpoint, make_person

pytestmark = pytest.mark.django_db

CANARY = "sk-canary-Zq7Rt90123456789"
FORM = {
    "slug": "steady",
    "provider": "openai",
    "base_url": "http://127.0.0.1:9/v1",
    "model": "m-1",
    "ttl": "6h",
    "max_concurrency": "2",
    "options": "{}",
    "enabled": "on",
}


@pytest.fixture
def alice(client: Client, static_files: Path) -> User:
    person = make_person("alice", Role.OPERATOR)
    client.force_login(person)
    return person


def test_what_a_person_does_on_a_page_is_told_with_its_origin(client: Client, alice: User) -> None:
    """Name, id, address and the request id, which is in the server's log too."""
    answer = client.post(
        "/endpoints/new/", {**FORM, "key": CANARY}, headers={"X-Request-ID": "a" * 8}
    )
    assert answer.status_code == 302

    entry = last_entry()

    assert entry["action"] == Action.ENDPOINT_CREATED
    assert entry["actor"] == {"name": "alice", "person": alice.pk, "token": None}
    assert entry["origin"] == {"via": "page", "address": "127.0.0.1", "request": "a" * 8}
    assert (entry["subject"], entry["endpoint"]) == ("endpoint steady", "steady")
    assert entry["endpoint_id"] == Endpoint.objects.get().pk
    assert entry["before"] is None
    assert entry["after"] == {
        "slug": "steady",
        "provider": "openai",
        "base_url": "http://127.0.0.1:9/v1",
        "model": "m-1",
        "options": "{}",
        "ttl": "6h",
        "max_concurrency": "2",
        "enabled": "true",
        "currency": "USD",
        "tags": "[]",
        "key": "given",
    }


def test_a_change_tells_only_what_changed(alice: User) -> None:
    """Before and after have the same names; unchanged values are left out."""
    endpoint = make_endpoint(key=Secret(CANARY))
    endpoints.update(
        endpoint,
        key=None,
        forget_key=True,
        by=alice,
        model="m-2",
        ttl=endpoint.ttl,
        daily_requests=5,
    )

    entry = last_entry()

    assert entry["action"] == Action.ENDPOINT_CHANGED
    assert entry["actor"]["name"] == "alice"
    assert entry["before"] == {"model": "m-1", "daily_requests": "", "key": ""}
    assert entry["after"] == {"model": "m-2", "daily_requests": "5", "key": "forgotten"}
    count = AuditEntry.objects.count()
    endpoints.update(endpoint, key=None, forget_key=False, model="m-2")
    assert AuditEntry.objects.count() == count


def test_the_columns_that_are_filtered_by_are_what_the_body_says() -> None:
    """The database generates them from the body."""
    team = Team.objects.create(name="blue")
    endpoint = make_endpoint()
    Endpoint.objects.filter(pk=endpoint.pk).update(team=team)
    endpoint.refresh_from_db()
    notes.add_note(endpoint, at=None, text="deployed", by=None)

    entry = AuditEntry.objects.latest("id")

    assert (entry.action, entry.actor) == ("note.added", "system")
    assert (entry.endpoint, entry.endpoint_id, entry.team) == ("steady", endpoint.pk, team.pk)
    assert abs(entry.at - timezone.now()) < timedelta(minutes=10)


def test_commands_act_in_the_name_of_who_runs_them(tmp_path: Path) -> None:
    """The actor of a command is the user of this machine, whoever owns the object."""
    file = tmp_path / "endpoints.yaml"
    file.write_text(STEADY + NEW)

    assert main(["apply", str(file), "--data-dir", "/nowhere"]) == 0

    me = pwd.getpwuid(os.getuid()).pw_name
    entries = all_entries()
    assert [entry["action"] for entry in entries] == [
        Action.ENDPOINT_CREATED,
        Action.ENDPOINT_CREATED,
        Action.ENDPOINTS_APPLIED,
    ]
    assert {entry["actor"]["name"] for entry in entries} == {me}
    assert {entry["origin"]["via"] for entry in entries} == {"command"}
    assert set(entries[-1]["after"].values()) == {"create"}
    with actor_context.acting_as(actor_context.command_actor()):
        assert actor_context.current_actor().actor_json(make_person("bob"))["name"] == me
    assert main(["apply", str(file), "--data-dir", "/nowhere"]) == 0
    assert len(all_entries()) == len(entries)


def test_a_token_is_told_beside_whose_it_is() -> None:
    """The prefix, never the token."""
    who = ActorContext(Via.API, 7, "alice", token="tg_abcd1234", address="10.0.0.1")
    with actor_context.acting_as(who):
        fleet.register_fleet("http://127.0.0.1:9")
    assert last_entry()["actor"] == {"name": "alice", "person": 7, "token": "tg_abcd1234"}
    assert last_entry()["origin"]["via"] == "api"


def test_what_workers_do_by_themselves_is_the_systems() -> None:
    """A channel that rejects notices is turned off with its reason."""
    created = channels.create_channel(
        name="ops", kind="webhook", url="http://127.0.0.1:9/x", by=None
    )
    channels.switch_off_channel(created.channel, "410 Gone")
    entry = last_entry()
    assert (entry["actor"]["name"], entry["origin"]["via"]) == ("system", "system")
    assert entry["reason"] == "410 Gone"
    assert (entry["before"], entry["after"]) == ({"enabled": True}, {"enabled": False})


def test_no_secret_is_ever_in_the_log(client: Client, alice: User) -> None:
    """Keys of endpoints, URLs and signing secrets of channels: given, replaced, forgotten."""
    client.post("/endpoints/new/", {**FORM, "key": CANARY})
    endpoint = Endpoint.objects.get()
    endpoints.update(endpoint, key=Secret(CANARY + "2"), forget_key=False, by=alice)
    endpoints.update(
        endpoint, key=None, forget_key=False, by=alice, base_url="http://127.0.0.2:9/v1"
    )
    url = f"http://127.0.0.1:9/hook/{CANARY}"
    created = channels.create_channel(name="ops", kind="webhook", url=url, by=alice)
    rotated = channels.rotate_secret(created.channel).secret
    channels.change_channel(created.channel, name="ops", url=url + "2")
    channels.remove_channel(Channel.objects.get())
    endpoints.remove(endpoint)
    audit.record(Action.DEMO_CHANGED, subject="x", after={"key": Secret(CANARY)})

    text = "\n".join(AuditEntry.objects.values_list("body", flat=True))

    assert text.count('"key": "given"') == 2
    assert "forgotten" in text
    for secret in (CANARY, CANARY[-4:], created.secret, rotated):
        assert secret not in text


def test_every_entry_is_bounded() -> None:
    """Long texts are cut with a mark and their digest; every value can be recorded."""
    long = "x" * 5_000
    deep: Any = []
    for _ in range(900):
        deep = [deep]
    audit.record(
        Action.DEMO_CHANGED,
        subject="a\0b\ud800",
        reason=long,
        before={"text": long, "deep": deep, "odd": float("nan"), "set": {2, 1}},
        after={str(number): "é" * 1_999 for number in range(100)},
    )
    entry = last_entry()
    digest = hashlib.sha256(long.encode()).hexdigest()
    cut = f"{'x' * 2_000}… [cut: 5000 characters, sha256 {digest}]"
    assert (entry["subject"], entry["reason"], entry["before"]["text"]) == ("ab?", cut, cut)
    assert "nested too deep" in json.dumps(entry["before"]["deep"])
    assert (entry["before"]["odd"], entry["before"]["set"]) == ("nan", ["1", "2"])
    assert "sha256" in entry["after"]["cut"]
    assert len(AuditEntry.objects.get().body) < 20_000


def test_maintenance_and_notes_tell_their_reasons(alice: User) -> None:
    """Planned and cancelled, written and removed: each with its reason or text."""
    endpoint, now = make_endpoint(), timezone.now()
    window = maintenance.plan_window(
        endpoint, now, now + timedelta(hours=1), by=alice, reason="new engine"
    )
    assert (last_entry()["reason"], last_entry()["subject"]) == (
        "new engine",
        f"maintenance {window.pk}",
    )
    assert last_entry()["after"]["ends_at"] == str(window.ends_at)
    assert maintenance.cancel_window(window, by=alice)
    assert last_entry()["action"] == Action.MAINTENANCE_CANCELLED
    assert not maintenance.cancel_window(window, by=alice)
    note = notes.add_note(endpoint, at=None, text="deployed", by=alice)
    assert notes.remove_note(note, by=alice)
    assert (last_entry()["action"], last_entry()["before"]["text"]) == (
        Action.NOTE_REMOVED,
        "deployed",
    )
    assert len(all_entries()) == 5
