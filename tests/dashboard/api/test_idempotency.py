"""An Idempotency-Key: what it belongs to is done once, and answered alike whenever it is sent."""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection, transaction
from django.db.models import F

from dashboard.api import services as idempotency
from dashboard.core.sql import execute
from dashboard.models import KeptAnswer, ModeSwitch, Note, Run
from dashboard.people.services import tokens
from tests.dashboard.api.client import Asking, error_of
from tests.factories import make_endpoint

NOTES = "/endpoints/steady/notes"


def send(api: Asking, key: str, text: str = "live", path: str = NOTES, method: str = "POST") -> Any:
    headers = {**api.headers, "Idempotency-Key": key}
    return api.client.generic(
        method, f"/api/v1{path}", f'{{"text": "{text}"}}', "application/json", headers=headers
    )


def test_the_same_request_is_done_once_and_answered_alike(api: Asking) -> None:
    """Status and body are the first ones; a header says that they are."""
    make_endpoint()

    first, second = send(api, "k-1"), send(api, "k-1")

    assert (first.status_code, second.status_code) == (201, 201)
    assert first.content == second.content
    assert second.headers["Content-Type"] == first.headers["Content-Type"]
    assert "Idempotency-Replayed" not in first.headers
    assert second.headers["Idempotency-Replayed"] == "true"
    assert Note.objects.count() == 1
    assert send(api, "k-2").json()["id"] != first.json()["id"]


def test_refusals_and_empty_answers_are_kept_too(api: Asking) -> None:
    """What was refused stays refused under its key; removing twice is no second error."""
    make_endpoint()
    assert [send(api, "bad", text="").status_code for _ in range(2)] == [409, 409]
    note = send(api, "good").json()["id"]

    gone = [send(api, "gone", path=f"{NOTES}/{note}", method="DELETE") for _ in range(2)]

    assert [answer.status_code for answer in gone] == [204, 204]
    assert gone[1].headers["Idempotency-Replayed"] == "true"


def test_a_key_belongs_to_one_request_of_one_token(
    asking: Callable[..., Asking], api: Asking
) -> None:
    """Another body, address or method is refused; another token has keys of its own."""
    endpoint = make_endpoint()
    make_endpoint(slug="other")
    assert send(api, "k").status_code == 201

    for other in (
        send(api, "k", text="other"),
        send(api, "k", path="/endpoints/other/notes"),
        send(api, "k", path=f"{NOTES}/1", method="DELETE"),
    ):
        assert (other.status_code, error_of(other)["code"]) == (422, "key_reused")
    assert send(asking("operate"), "k").status_code == 201
    assert Note.objects.filter(endpoint=endpoint).count() == 2


def test_a_key_opens_nothing_for_who_may_not(asking: Callable[..., Asking]) -> None:
    """Whoever has lost the right does not get the answer of before."""
    make_endpoint()
    api = asking("operate")
    assert send(api, "k").status_code == 201
    tokens.revoke_token(api.token)

    assert send(api, "k").status_code == 401


@pytest.mark.parametrize("key", ["", " ", "a b", "ü", "x" * 201])
def test_a_key_that_cannot_be_one_is_refused(api: Asking, key: str) -> None:
    """Nothing happens then."""
    make_endpoint()

    assert send(api, key).status_code == 400
    assert not Note.objects.exists()


def test_after_a_day_a_key_is_free_again(api: Asking) -> None:
    """By the database's clock; what is past its time is deleted by a duty."""
    make_endpoint()
    for key in ("old", "older", "young"):
        send(api, key)
    past = KeptAnswer.objects.exclude(key="young")
    past.update(created_at=F("created_at") - timedelta(hours=25))

    assert "Idempotency-Replayed" not in send(api, "old").headers
    assert idempotency.delete_expired_answers() == 1
    assert set(KeptAnswer.objects.values_list("key", flat=True)) == {"old", "young"}


def test_an_answer_too_large_to_keep_is_not_done_again(
    api: Asking, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The repetition says that it was done."""
    monkeypatch.setattr(idempotency, "MAX_ANSWER_BYTES", 10)
    make_endpoint()
    send(api, "k")

    again = send(api, "k")

    assert (again.status_code, "done before" in error_of(again)["detail"]) == (409, True)
    assert Note.objects.count() == 1


@pytest.mark.django_db(transaction=True)
def test_while_the_first_is_under_way_the_second_is_told_so(api: Asking) -> None:
    """It neither waits nor does it again."""
    make_endpoint()
    held, done = threading.Event(), threading.Event()

    def hold() -> None:
        with transaction.atomic():
            idempotency.claim_key(api.token, "k", b"")
            held.set()
            done.wait(60)
        connection.close()

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait(60)
    second = send(api, "k")
    done.set()
    thread.join()

    assert (second.status_code, error_of(second)["code"]) == (409, "in_progress")
    assert second.headers["Retry-After"] == "1"
    assert send(api, "k").status_code == 201


@pytest.mark.django_db(transaction=True)
def test_what_cannot_be_remembered_is_not_done(api: Asking) -> None:
    """The action and its answer are there together, or neither is."""
    make_endpoint()
    execute(
        "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS"
        " $$ BEGIN RAISE EXCEPTION 'the disk is full'; END $$"
    )
    execute(
        "CREATE TRIGGER refuse BEFORE INSERT ON dashboard_keptanswer"
        " FOR EACH ROW EXECUTE FUNCTION refuse()"
    )
    body = b'{"mode": "no_tools", "reason": "x"}'
    headers = {**api.headers, "Idempotency-Key": "k"}
    try:
        answers = [
            api.client.generic("POST", f"/api/v1{path}", body, "application/json", headers=headers)
            for path in ("/endpoints/steady/modes", NOTES)
        ]
    finally:
        execute("DROP FUNCTION refuse CASCADE")

    assert [answer.status_code for answer in answers] == [500, 500]
    assert error_of(answers[0])["code"] == "internal"
    assert not ModeSwitch.objects.exists()
    assert not Run.objects.exists()
    assert send(api, "k").status_code == 201
