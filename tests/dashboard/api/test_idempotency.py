"""Idempotency-Key: its request is executed once, and answered alike whenever it is sent."""

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
from tests.dashboard.api.client import ApiClient, read_error
from tests.factories import make_endpoint

NOTES = "/endpoints/steady/notes"


def send(
    api: ApiClient, key: str, text: str = "live", path: str = NOTES, method: str = "POST"
) -> Any:
    headers = {**api.headers, "Idempotency-Key": key}
    return api.client.generic(
        method, f"/api/v1{path}", f'{{"text": "{text}"}}', "application/json", headers=headers
    )


def test_the_same_request_is_done_once_and_answered_alike(api: ApiClient) -> None:
    """The repetition gets the first status and body, and a header that says so."""
    make_endpoint()

    first, second = send(api, "k-1"), send(api, "k-1")

    assert (first.status_code, second.status_code) == (201, 201)
    assert first.content == second.content
    assert second.headers["Content-Type"] == first.headers["Content-Type"]
    assert "Idempotency-Replayed" not in first.headers
    assert second.headers["Idempotency-Replayed"] == "true"
    assert Note.objects.count() == 1
    assert send(api, "k-2").json()["id"] != first.json()["id"]


def test_refusals_and_empty_answers_are_kept_too(api: ApiClient) -> None:
    """A refusal is stored under its key too; a repeated DELETE gets the first response."""
    make_endpoint()
    assert [send(api, "bad", text="").status_code for _ in range(2)] == [409, 409]
    note = send(api, "good").json()["id"]

    deletions = [send(api, "gone", path=f"{NOTES}/{note}", method="DELETE") for _ in range(2)]

    assert [answer.status_code for answer in deletions] == [204, 204]
    assert deletions[1].headers["Idempotency-Replayed"] == "true"


def test_a_key_belongs_to_one_request_of_one_token(
    make_client: Callable[..., ApiClient], api: ApiClient
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
        assert (other.status_code, read_error(other)["code"]) == (422, "key_reused")
    assert send(make_client("operate"), "k").status_code == 201
    assert Note.objects.filter(endpoint=endpoint).count() == 2


def test_a_key_opens_nothing_for_who_may_not(make_client: Callable[..., ApiClient]) -> None:
    """Without the right, the stored response is not returned."""
    make_endpoint()
    api = make_client("operate")
    assert send(api, "k").status_code == 201
    tokens.revoke_token(api.token)

    assert send(api, "k").status_code == 401


@pytest.mark.parametrize("key", ["", " ", "a b", "ü", "x" * 201])
def test_a_key_that_cannot_be_one_is_refused(api: ApiClient, key: str) -> None:
    """A malformed key is refused before anything happens."""
    make_endpoint()

    assert send(api, key).status_code == 400
    assert not Note.objects.exists()


def test_after_a_day_a_key_is_free_again(api: ApiClient) -> None:
    """By the database's clock; a recurring duty deletes expired responses."""
    make_endpoint()
    for key in ("old", "older", "young"):
        send(api, key)
    past = KeptAnswer.objects.exclude(key="young")
    past.update(created_at=F("created_at") - timedelta(hours=25))

    assert "Idempotency-Replayed" not in send(api, "old").headers
    assert idempotency.delete_expired_answers() == 1
    assert set(KeptAnswer.objects.values_list("key", flat=True)) == {"old", "young"}


def test_an_answer_too_large_to_keep_is_not_done_again(
    api: ApiClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The repetition gets an error that the request was executed already."""
    monkeypatch.setattr(idempotency, "MAX_ANSWER_BYTES", 10)
    make_endpoint()
    send(api, "k")

    again = send(api, "k")

    assert (again.status_code, "done before" in read_error(again)["detail"]) == (409, True)
    assert Note.objects.count() == 1


@pytest.mark.django_db(transaction=True)
def test_while_the_first_is_under_way_the_second_is_told_so(api: ApiClient) -> None:
    """The second request neither waits nor is executed."""
    make_endpoint()
    is_held, is_done = threading.Event(), threading.Event()

    def hold() -> None:
        with transaction.atomic():
            idempotency.claim_key(api.token, "k", b"")
            is_held.set()
            is_done.wait(60)
        connection.close()

    thread = threading.Thread(target=hold)
    thread.start()
    is_held.wait(60)
    second = send(api, "k")
    is_done.set()
    thread.join()

    assert (second.status_code, read_error(second)["code"]) == (409, "in_progress")
    assert second.headers["Retry-After"] == "1"
    assert send(api, "k").status_code == 201


@pytest.mark.django_db(transaction=True)
def test_what_cannot_be_remembered_is_not_done(api: ApiClient) -> None:
    """Either the action and its response are stored, or neither is."""
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
    assert read_error(answers[0])["code"] == "internal"
    assert not ModeSwitch.objects.exists()
    assert not Run.objects.exists()
    assert send(api, "k").status_code == 201
