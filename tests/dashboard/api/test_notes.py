from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from dashboard.charts import services as notes
from dashboard.models import Note
from dashboard.models.people import Role
from tests.dashboard.api.client import ApiClient, read_error
from tests.factories import make_endpoint, make_person

PATH = "/endpoints/steady/notes"
BODY: dict[str, Any] = {
    "at": "2026-05-01T09:30:00Z",
    "text": "vLLM 0.11.2 is live",
    "link": "https://ci.example/deploys/4711",
}


def test_a_deployment_is_noted_listed_and_taken_back(api: ApiClient) -> None:
    """By the token's owner, at the given time."""
    make_endpoint()

    created = api.post(PATH, BODY)

    note = created.json()
    assert (created.status_code, note["author"]) == (201, "alice")
    assert {name: note[name] for name in BODY} == BODY
    assert api.get(PATH).json()["notes"] == [note]
    assert api.delete(f"{PATH}/{note['id']}").status_code == 204
    assert api.get(PATH).json()["notes"] == []
    assert api.delete(f"{PATH}/{note['id']}").status_code == 404


def test_a_note_without_a_time_is_of_now_and_the_newest_is_first(api: ApiClient) -> None:
    """A script in a pipeline needs only the text."""
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
def test_a_malformed_note_is_refused(api: ApiClient, over: dict[str, Any], status: int) -> None:
    """The response is problem+json, and nothing is written."""
    make_endpoint()

    answer = api.post(PATH, {**BODY, **over})

    assert answer.status_code == status
    assert read_error(answer)["detail"]
    assert not Note.objects.exists()


def test_writing_needs_the_scope_and_removing_the_author(
    api: ApiClient, make_client: Callable[..., ApiClient]
) -> None:
    """Reading does not; only the author can remove a note."""
    endpoint = make_endpoint()
    theirs = notes.add_note(endpoint, at=None, text="by bob", by=make_person("bob", Role.OPERATOR))
    reader = make_client("read")

    assert reader.get(PATH).status_code == 200
    assert reader.post(PATH, BODY).status_code == 403
    assert reader.delete(f"{PATH}/{theirs.pk}").status_code == 403
    assert api.delete(f"{PATH}/{theirs.pk}").status_code == 409
    assert api.get("/endpoints/nobody/notes").status_code == 404


def test_prices_go_in_and_come_out(api: ApiClient) -> None:
    """Prices are numbers; null removes one."""
    make_endpoint()
    before = api.get("/endpoints/steady").json()
    price = {"updated_at": before["updated_at"], "price_input": 0.4, "price_output": 1.25}

    answer = api.patch("/endpoints/steady", price | {"currency": "EUR"})
    again = {"updated_at": answer.json()["updated_at"], "price_input": None}

    assert (before["price_input"], before["currency"]) == (None, "USD")
    assert (answer.json()["price_input"], answer.json()["currency"]) == (0.4, "EUR")
    cleared = api.patch("/endpoints/steady", again).json()
    assert (cleared["price_input"], cleared["price_output"]) == (None, 1.25)
