"""Notes: add, list, show in charts, remove."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from dashboard.charts import chart_annotations
from dashboard.charts import services as notes
from dashboard.charts.figures.change_marks import Mark, MarkKind
from dashboard.core.errors import Refused
from dashboard.models import Endpoint, Note, PolicyVersion, Run
from dashboard.models.people import Role
from tests.factories import make_endpoint, make_finished_run, make_person
from tests.markup import assert_contains, assert_not_contains

HOUR = timedelta(hours=1)
HTMX = {"HX-Request": "true"}


@pytest.fixture
def endpoint(db: None) -> Endpoint:
    return make_endpoint()


def test_a_note_is_added_and_becomes_a_mark(
    signed_in: Client, person: User, endpoint: Endpoint
) -> None:
    """The response is the card with the note, and triggers a refresh of the charts."""
    make_finished_run(endpoint, at=timezone.now() - HOUR)
    data = {"text": "vLLM  0.11 is live", "link": "https://ci.example/4711", "at": ""}

    response = signed_in.post("/endpoints/steady/notes/", data, headers=HTMX)

    note = Note.objects.get()
    assert (note.text, note.author) == ("vLLM 0.11 is live", person)
    assert "notes-changed" in response.headers["HX-Trigger"]
    assert_contains(response, 'href="https://ci.example/4711"')
    assert_not_contains(response, "<html")
    assert _marks(endpoint) == [Mark(note.at, MarkKind.NOTE, "vLLM 0.11 is live")]


def test_without_htmx_a_note_redirects_to_the_page(signed_in: Client, endpoint: Endpoint) -> None:
    """A plain form submission works too, and shows what is missing."""
    data = {"text": "deployed", "at": "2026-01-03T12:00"}

    response = signed_in.post("/endpoints/steady/notes/", data)
    refused = signed_in.post("/endpoints/steady/notes/", {"text": " "}, follow=True)

    assert response.headers["Location"] == "/endpoints/steady/#notes"
    assert f"{Note.objects.get().at:%d %H:%M}" == "03 12:00"
    assert_contains(refused, "Write what happened.")


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"text": "x" * 501}, "500"),
        ({"text": "t", "link": "javascript:alert(1)"}, "http://"),
        ({"text": "t", "link": "https://"}, "http://"),
        ({"text": "t", "link": "https://a b"}, "http://"),
        ({"text": "t", "link": "http://["}, "http://"),
        ({"text": "t", "at": "yesterday"}, "2026-11-03T12:00"),
        ({"text": "t", "at": "9026-01-01T00:00"}, "too far"),
    ],
)
def test_an_invalid_note_is_refused(
    signed_in: Client, endpoint: Endpoint, data: dict[str, str], message: str
) -> None:
    """The card shows the error and keeps the typed text; nothing is stored."""
    response = signed_in.post("/endpoints/steady/notes/", data, headers=HTMX)

    assert_contains(response, message)
    assert_contains(response, 'role="alert"')
    assert_contains(response, data["text"])
    assert not Note.objects.exists()


def test_the_text_of_a_note_is_escaped(signed_in: Client, endpoint: Endpoint) -> None:
    """Markup is shown as text, in the list and in the figure."""
    make_finished_run(endpoint, at=timezone.now() - HOUR)
    notes.add_note(endpoint, at=None, text="<img src=x onerror=alert(1)>\u202e", by=None)

    page = signed_in.get("/endpoints/steady/")

    assert_not_contains(page, "<img src=x")
    assert_contains(page, "&lt;img src=x onerror=alert(1)&gt;⟦U+202E⟧")
    assert_contains(page, "somebody")


def test_only_its_author_and_administrators_remove_a_note(
    signed_in: Client, person: User, endpoint: Endpoint
) -> None:
    """Other users have no button and are refused."""
    bob = make_person("bob", Role.OPERATOR)
    other_note = notes.add_note(endpoint, at=None, text="by bob", by=bob)
    own_note = notes.add_note(endpoint, at=None, text="by alice", by=person)

    page = signed_in.get("/endpoints/steady/notes/")
    refused = signed_in.post(f"/endpoints/steady/notes/{other_note.pk}/remove/", headers=HTMX)
    removed = signed_in.post(f"/endpoints/steady/notes/{own_note.pk}/remove/", headers=HTMX)

    assert_contains(page, 'aria-label="Remove the note “by alice”"')
    assert_not_contains(page, "Remove the note “by bob”")
    assert_contains(refused, "Only who wrote a note")
    assert_contains(removed, "The note is removed.")
    assert list(Note.objects.kept()) == [other_note]
    again = signed_in.post(f"/endpoints/steady/notes/{own_note.pk}/remove/", headers=HTMX)
    assert_contains(again, "already")
    assert notes.remove_note(other_note, by=User.objects.create_superuser("root"))


def test_notes_of_another_endpoint_are_not_found(signed_in: Client, endpoint: Endpoint) -> None:
    """The slug and the id of the note must match."""
    bob = make_person("bob", Role.OPERATOR)
    note = notes.add_note(make_endpoint(slug="other"), at=None, text="t", by=bob)

    assert signed_in.post(f"/endpoints/steady/notes/{note.pk}/remove/").status_code == 404
    with pytest.raises(Refused):
        notes.remove_note(note, by=None)


def test_a_new_suite_and_a_new_stage_are_marks(endpoint: Endpoint) -> None:
    """Changes of suite version and stage are marked; the first of each is not a change."""
    for hours, version in ((3, "v1"), (2, "v1"), (1, "v2")):
        run = make_finished_run(endpoint, at=timezone.now() - hours * HOUR)
        Run.objects.filter(pk=run.pk).update(suite_version=version)
    newest = PolicyVersion.objects.get(endpoint=endpoint)
    body = {**newest.body, "stage": "read_only"}
    PolicyVersion.objects.create(version=newest.version + 1, endpoint=endpoint, body=body)

    texts = {mark.kind: mark.text for mark in _marks(endpoint)}

    assert texts == {MarkKind.SUITE: "suite v2", MarkKind.STAGE: "stage shadow is now read only"}


def _marks(endpoint: Endpoint) -> list[Mark]:
    now = timezone.now()
    return list(
        chart_annotations.read_annotations(endpoint, None, now - 5 * HOUR, now + HOUR).marks
    )
