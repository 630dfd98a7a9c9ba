"""Notes by hand: written, listed, shown in the charts, removed by whoever may."""

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
    """The card comes back with it, and the charts are told."""
    make_finished_run(endpoint, at=timezone.now() - HOUR)
    given = {"text": "vLLM  0.11 is live", "link": "https://ci.example/4711", "at": ""}

    answer = signed_in.post("/endpoints/steady/notes/", given, headers=HTMX)

    note = Note.objects.get()
    assert (note.text, note.author) == ("vLLM 0.11 is live", person)
    assert "notes-changed" in answer.headers["HX-Trigger"]
    assert_contains(answer, 'href="https://ci.example/4711"')
    assert_not_contains(answer, "<html")
    assert _marks(endpoint) == [Mark(note.at, MarkKind.NOTE, "vLLM 0.11 is live")]


def test_without_scripts_a_note_leads_back_to_the_page(
    signed_in: Client, endpoint: Endpoint
) -> None:
    """A plain form works too, and says what is missing."""
    given = {"text": "deployed", "at": "2026-01-03T12:00"}

    answer = signed_in.post("/endpoints/steady/notes/", given)
    refused = signed_in.post("/endpoints/steady/notes/", {"text": " "}, follow=True)

    assert answer.headers["Location"] == "/endpoints/steady/#notes"
    assert f"{Note.objects.get().at:%d %H:%M}" == "03 12:00"
    assert_contains(refused, "Write what happened.")


@pytest.mark.parametrize(
    ("given", "word"),
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
def test_a_note_that_cannot_be_shown_is_refused(
    signed_in: Client, endpoint: Endpoint, given: dict[str, str], word: str
) -> None:
    """The card says what to change and keeps what was typed; nothing is stored."""
    answer = signed_in.post("/endpoints/steady/notes/", given, headers=HTMX)

    assert_contains(answer, word)
    assert_contains(answer, 'role="alert"')
    assert_contains(answer, given["text"])
    assert not Note.objects.exists()


def test_what_a_note_says_is_inert(signed_in: Client, endpoint: Endpoint) -> None:
    """Markup in it is text, in the list and in the figure."""
    make_finished_run(endpoint, at=timezone.now() - HOUR)
    notes.add_note(endpoint, at=None, text="<img src=x onerror=alert(1)>\u202e", by=None)

    page = signed_in.get("/endpoints/steady/")

    assert_not_contains(page, "<img src=x")
    assert_contains(page, "&lt;img src=x onerror=alert(1)&gt;⟦U+202E⟧")
    assert_contains(page, "somebody")


def test_only_its_author_and_administrators_remove_a_note(
    signed_in: Client, person: User, endpoint: Endpoint
) -> None:
    """Others have no button for it, and no right."""
    bob = make_person("bob", Role.OPERATOR)
    theirs = notes.add_note(endpoint, at=None, text="by bob", by=bob)
    mine = notes.add_note(endpoint, at=None, text="by alice", by=person)

    page = signed_in.get("/endpoints/steady/notes/")
    refused = signed_in.post(f"/endpoints/steady/notes/{theirs.pk}/remove/", headers=HTMX)
    done = signed_in.post(f"/endpoints/steady/notes/{mine.pk}/remove/", headers=HTMX)

    assert_contains(page, 'aria-label="Remove the note “by alice”"')
    assert_not_contains(page, "Remove the note “by bob”")
    assert_contains(refused, "Only who wrote a note")
    assert_contains(done, "The note is removed.")
    assert list(Note.objects.kept()) == [theirs]
    again = signed_in.post(f"/endpoints/steady/notes/{mine.pk}/remove/", headers=HTMX)
    assert_contains(again, "already")
    assert notes.remove_note(theirs, by=User.objects.create_superuser("root"))


def test_notes_of_another_endpoint_are_not_found(signed_in: Client, endpoint: Endpoint) -> None:
    """An address put together by hand reaches nothing."""
    bob = make_person("bob", Role.OPERATOR)
    note = notes.add_note(make_endpoint(slug="other"), at=None, text="t", by=bob)

    assert signed_in.post(f"/endpoints/steady/notes/{note.pk}/remove/").status_code == 404
    with pytest.raises(Refused):
        notes.remove_note(note, by=None)


def test_another_suite_and_another_stage_are_marks(endpoint: Endpoint) -> None:
    """What may explain a change stands above it; the first of each is no change."""
    for hours, version in ((3, "v1"), (2, "v1"), (1, "v2")):
        run = make_finished_run(endpoint, at=timezone.now() - hours * HOUR)
        Run.objects.filter(pk=run.pk).update(suite_version=version)
    newest = PolicyVersion.objects.get(endpoint=endpoint)
    body = {**newest.body, "stage": "read_only"}
    PolicyVersion.objects.create(version=newest.version + 1, endpoint=endpoint, body=body)

    words = {mark.kind: mark.words for mark in _marks(endpoint)}

    assert words == {MarkKind.SUITE: "suite v2", MarkKind.STAGE: "stage shadow is now read only"}


def _marks(endpoint: Endpoint) -> list[Mark]:
    now = timezone.now()
    return list(
        chart_annotations.read_annotations(endpoint, None, now - 5 * HOUR, now + HOUR).marks
    )
