"""The pages of the audit log: who sees what, filters, paging, files."""

from __future__ import annotations

import csv
import hashlib
import io
import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.contrib.auth.models import User
from django.db import connection
from django.http import StreamingHttpResponse
from django.test import Client
from django.test.utils import CaptureQueriesContext

from dashboard.audit import queries
from dashboard.audit import services as audit
from dashboard.audit.queries import AuditFilter
from dashboard.charts import services as notes
from dashboard.core import actor_context, permissions
from dashboard.core.actor_context import ActorContext, Via
from dashboard.core.permissions import EVERYBODY
from dashboard.endpoints.services import endpoints
from dashboard.models import AuditEntry, Endpoint
from dashboard.models.audit import Action
from dashboard.models.people import Role, Team
from tests.dashboard.audit.builders import link_now, record_entries
from tests.factories import make_endpoint, make_person

pytestmark = pytest.mark.django_db

HOSTILE = "<script>alert(1)</script>\u202eevil\x1b[31m"


@pytest.fixture(autouse=True)
def _hashed_files(static_files: Path) -> None:
    """Pages link to static files by their hash."""


@pytest.fixture
def two_teams() -> dict[str, Any]:
    """Endpoints of two teams and one without, a note on each, and an entry about no endpoint."""
    teams = {name: Team.objects.create(name=name) for name in ("blue", "red")}
    for slug in ("blue", "red", "free"):
        endpoint = make_endpoint(slug=slug)
        Endpoint.objects.filter(pk=endpoint.pk).update(team=teams.get(slug))
        endpoint.refresh_from_db()
        notes.add_note(endpoint, at=None, text=f"note of {slug}", by=None)
    record_entries("nobody's endpoint")
    link_now()
    return teams


def sign_in_as(client: Client, person: User) -> Client:
    client.force_login(person)
    return client


def visible_note_endpoints(audit_filter: AuditFilter, person: User) -> set[str]:
    entries = queries.filter_entries(audit_filter, permissions.user_actor(person))
    return {entry.endpoint for entry in entries if entry.action != Action.ENDPOINT_CREATED}


def read_stream(answer: Any) -> str:
    """The whole content of a streamed file."""

    async def collect() -> bytes:
        return b"".join([piece async for piece in answer.streaming_content])

    assert isinstance(answer, StreamingHttpResponse)
    return async_to_sync(collect)().decode()


def test_everybody_sees_what_their_teams_allow(client: Client, two_teams: dict[str, Any]) -> None:
    """Entries of a team, of all endpoints, or all; in the list, the entry page and the file."""
    red = make_person("rita", Role.VIEWER, team=two_teams["red"])
    everywhere, nobody = make_person("eve", Role.VIEWER), make_person("noa")
    admin = User.objects.create_superuser("ada")
    visible = {
        person: visible_note_endpoints(AuditFilter(), person)
        for person in (red, everywhere, nobody, admin)
    }
    assert visible == {
        red: {"red"},
        everywhere: {"blue", "red", "free"},
        nobody: set(),
        admin: {"blue", "red", "free", ""},
    }

    page = sign_in_as(client, red).get("/audit/").content.decode()
    assert ("note of red" in page, "note of blue" in page) == (True, False)
    assert client.get("/audit/?endpoint=blue").content.decode().count("audit-entry") == 0
    theirs = AuditEntry.objects.filter(endpoint="blue").latest("id").pk
    assert client.get(f"/audit/{theirs}/").status_code == 404
    assert client.get(f"/audit/{2**70}/").status_code == 404
    assert sign_in_as(client, nobody).get("/audit/").status_code == 403
    assert client.get("/audit/export/").status_code == 403


def test_what_was_a_teams_stays_with_it() -> None:
    """A new endpoint of another team with the same name does not reveal the old entries."""
    teams = [Team.objects.create(name=name) for name in ("old", "new")]
    for team in teams:
        endpoint = make_endpoint(slug="shared")
        Endpoint.objects.filter(pk=endpoint.pk).update(team=team)
        endpoint.refresh_from_db()
        notes.add_note(endpoint, at=None, text=f"of {team}", by=None)
        if team is teams[0]:
            endpoints.remove(endpoint)
    person = make_person("nina", Role.VIEWER, team=teams[1])
    entries = queries.filter_entries(AuditFilter(endpoint="shared"), permissions.user_actor(person))
    assert {entry.parsed_body["after"]["text"] for entry in entries} == {"of new"}


def test_an_endpoint_is_followed_through_its_names() -> None:
    """The filter by the current name includes entries under the previous one."""
    endpoint = make_endpoint(slug="before")
    endpoints.update(endpoint, key=None, forget_key=False, slug="now")
    actions = [
        entry.action for entry in queries.filter_entries(AuditFilter(endpoint="now"), EVERYBODY)
    ]
    assert actions == [Action.ENDPOINT_CHANGED, Action.ENDPOINT_CREATED]


def test_filters_narrow_and_nonsense_is_left_out() -> None:
    """By actor, action, time and text; an invalid query shows everything."""
    with actor_context.acting_as(ActorContext(Via.PAGE, 1, "alice")):
        make_endpoint()
        record_entries("alpha")
    with actor_context.acting_as(ActorContext(Via.COMMAND, name="root")):
        record_entries('beta 100%_ "so"')

    def subjects(**query: str) -> list[str]:
        entries = queries.filter_entries(queries.read_audit_filter(query), EVERYBODY)
        return [entry.parsed_body["subject"] for entry in entries]

    every = ['beta 100%_ "so"', "alpha", "endpoint steady"]
    assert subjects(actor="alice") == ["alpha", "endpoint steady"]
    assert subjects(action="demo.changed") == subjects(action="demo.") == every[:2]
    for text in ("BETA", "100%_", '"so"'):
        assert subjects(text=text) == every[:1], text
    today = datetime.now(UTC).date()
    day = timedelta(days=1)
    assert subjects(since=str(today - day), until=str(today + day)) == every
    assert subjects(until=str(today - day)) == subjects(since=str(today + day)) == []
    nonsense = {
        "action": "x",
        "since": "soon",
        "until": "0001-01-01x",
        "before": "-1",
        "after": "x",
    }
    assert subjects(**nonsense) == every
    assert queries.read_audit_filter(nonsense) == AuditFilter()
    assert queries.read_audit_filter({"since": "0001-01-01", "until": "9999-12-31"}).until == ""


def test_pages_follow_each_other_without_gaps() -> None:
    """Forward and back by entry ids, whatever is added meanwhile."""
    record_entries(*(str(number) for number in range(7)))
    first = queries.read_audit_page(AuditFilter(), EVERYBODY, size=3)
    record_entries("newer")
    second = queries.read_audit_page(first.older or AuditFilter(), EVERYBODY, size=3)
    third = queries.read_audit_page(second.older or AuditFilter(), EVERYBODY, size=3)
    back = queries.read_audit_page(third.newer or AuditFilter(), EVERYBODY, size=3)

    def subjects(page: queries.AuditPage) -> list[str]:
        return [row.entry.parsed_body["subject"] for row in page.rows]

    assert [subjects(page) for page in (first, second, third, back)] == [
        ["6", "5", "4"],
        ["3", "2", "1"],
        ["0"],
        ["3", "2", "1"],
    ]
    assert (first.newer, third.older) == (None, None)
    every = [
        row for rows in queries.read_entry_batches(AuditFilter(), EVERYBODY, size=3) for row in rows
    ]
    assert len(every) == 8


def test_a_page_takes_as_many_queries_as_one_entry(admin_client: Client) -> None:
    """The number of queries is constant, and none of them counts or skips rows."""
    endpoint = make_endpoint()

    def run_queries() -> list[str]:
        with CaptureQueriesContext(
            connection,
        ) as seen:
            assert admin_client.get("/audit/").status_code == 200
        return [query["sql"] for query in seen]

    run_queries()
    few = run_queries()
    for number in range(60):
        notes.add_note(endpoint, at=None, text=f"note {number}", by=None)
    link_now()
    many = run_queries()
    assert len(many) == len(few) <= 8
    assert not any("OFFSET" in sql or "COUNT(" in sql for sql in many)


def test_hostile_words_are_inert_everywhere(admin_client: Client) -> None:
    """In the list, on the entry's page and in spreadsheets, where nothing is a formula."""
    audit.record(
        Action.DEMO_CHANGED,
        subject=HOSTILE,
        reason=f"=1+1 {HOSTILE}",
        before={HOSTILE: HOSTILE, "=cmd": "@x"},
        after={HOSTILE: [HOSTILE]},
    )
    link_now()
    entry = AuditEntry.objects.get()
    for path in ("/audit/", f"/audit/{entry.pk}/"):
        page = admin_client.get(path).content.decode()
        assert "alert(1)" in page
        for raw in ("<script>alert", "\u202e", "\x1b"):
            assert raw not in page, path

    lines = list(
        csv.DictReader(io.StringIO(read_stream(admin_client.get("/audit/export/?format=csv"))))
    )
    assert lines[0]["reason"].startswith("'=1+1")
    assert not any(value.startswith(("=", "+", "-", "@")) for value in lines[0].values())


def test_files_have_what_the_list_has_and_can_be_checked(admin_client: Client) -> None:
    """The same filters; each line of JSON has everything that its digest covers."""
    record_entries("one", "two", "three")
    link_now()
    assert (
        admin_client.get("/audit/export/?actor=x")
        .headers["Content-Type"]
        .startswith("application/jsonl")
    )
    answer = admin_client.get("/audit/export/?format=jsonl")
    assert answer.headers["Content-Disposition"] == 'attachment; filename="toolgauge-audit.jsonl"'
    lines = [json.loads(line) for line in read_stream(answer).splitlines()]
    assert [line["seq"] for line in lines] == [3, 2, 1]
    for line in lines:
        body = json.dumps(line["body"], ensure_ascii=False, sort_keys=True)
        content = f"{line['entry']}\n{line['at_us']}\n{body}".encode()
        assert (
            hashlib.sha256(bytes.fromhex(line["previous"]) + content).hexdigest() == line["digest"]
        )
    two = read_stream(admin_client.get("/audit/export/?format=csv&text=two"))
    assert (len(two.splitlines()), '"two"' in two or "two" in two) == (2, True)
    assert read_stream(admin_client.get("/audit/export/?format=csv&text=none")).startswith(
        "seq,entry,at"
    )


def test_the_empty_and_the_filtered_page_say_what_comes(admin_client: Client) -> None:
    """Both pages say what will appear or how to reset the filter."""
    assert "Nothing was done yet" in admin_client.get("/audit/").content.decode()
    page = admin_client.get("/audit/?actor=nobody").content.decode()
    assert "No entry fits these filters." in page
    assert 'href="/audit/"' in page
