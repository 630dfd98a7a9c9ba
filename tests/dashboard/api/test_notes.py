from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from dashboard.charts import services as notes
from dashboard.models import Note
from dashboard.models.people import Role
from tests.dashboard.api.client import Asking, error_of
from tests.factories import make_endpoint, make_person

PATH = "/endpoints/steady/notes"
BODY: dict[str, Any] = {
    "at": "2026-05-01T09:30:00Z",
    "text": "vLLM 0.11.2 is live",
    "link": "https://ci.example/deploys/4711",
}


def test_a_deployment_is_noted_listed_and_taken_back(api: Asking) -> None:
    """By whoever made the token, at the time that it says."""
    make_endpoint()

    made = api.post(PATH, BODY)

    note = made.json()
    assert (made.status_code, note["author"]) == (201, "alice")
    assert {name: note[name] for name in BODY} == BODY
    assert api.get(PATH).json()["notes"] == [note]
    assert api.delete(f"{PATH}/{note['id']}").status_code == 204
    assert api.get(PATH).json()["notes"] == []
    assert api.delete(f"{PATH}/{note['id']}").status_code == 404


def test_a_note_without_a_time_is_of_now_and_the_newest_is_first(api: Asking) -> None:
    """A script in a pipeline needs nothing but its text."""
    make_endpoint()
    api.post(PATH, BODY)

    api.post(PATH, {"text": "just now"})

    listed = [note["text"] for note in api.get(PATH).json()["notes"]]
    assert listed == ["just now", BODY["text"]]
    assert len(api.get(PATH, limit=1).json()["notes"]) == 1


@pytest.mark.parametrize(
    ("over", "status"),
    [
        ({"at": "2026-05-01T09:30:00"}, 422),
        ({"colour": "red"}, 422),
        ({"text": None}, 422),
        ({"text": " "}, 409),
        ({"text": "x" * 501}, 409),
        ({"link": "javascript:alert(1)"}, 409),
    ],
)
def test_a_malformed_note_is_refused(api: Asking, over: dict[str, Any], status: int) -> None:
    """In the one shape of errors, and nothing is written."""
    make_endpoint()

    answer = api.post(PATH, {**BODY, **over})

    assert answer.status_code == status
    assert error_of(answer)["detail"]
    assert not Note.objects.exists()


def test_writing_needs_the_scope_and_removing_the_author(
    api: Asking, asking: Callable[..., Asking]
) -> None:
    """Reading does not; nobody takes away what another person wrote."""
    endpoint = make_endpoint()
    theirs = notes.add_note(endpoint, at=None, text="by bob", by=make_person("bob", Role.OPERATOR))
    reader = asking("read")

    assert reader.get(PATH).status_code == 200
    assert reader.post(PATH, BODY).status_code == 403
    assert reader.delete(f"{PATH}/{theirs.pk}").status_code == 403
    assert api.delete(f"{PATH}/{theirs.pk}").status_code == 409
    assert api.get("/endpoints/nobody/notes").status_code == 404


def test_prices_go_in_and_come_out(api: Asking) -> None:
    """As numbers; null takes one away."""
    make_endpoint()
    seen = api.get("/endpoints/steady").json()
    price = {"updated_at": seen["updated_at"], "price_input": 0.4, "price_output": 1.25}

    answer = api.patch("/endpoints/steady", price | {"currency": "EUR"})
    again = {"updated_at": answer.json()["updated_at"], "price_input": None}

    assert (seen["price_input"], seen["currency"]) == (None, "USD")
    assert (answer.json()["price_input"], answer.json()["currency"]) == (0.4, "EUR")
    cleared = api.patch("/endpoints/steady", again).json()
    assert (cleared["price_input"], cleared["price_output"]) == (None, 1.25)
