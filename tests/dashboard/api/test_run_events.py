"""The stream of a run's progress, from a real web process."""

from __future__ import annotations

import json
import time
from contextlib import ExitStack
from dataclasses import dataclass
from http.client import HTTPConnection
from typing import Any
from urllib.parse import urlsplit

import pytest
from django.db import transaction
from django.utils import timezone

from dashboard.models import Endpoint, Run
from dashboard.models.run import State
from dashboard.people.services import tokens
from dashboard.runs import services as runs
from dashboard.runs.progress_stream import POLL_INTERVAL_S
from tests.dashboard.api.event_stream import Stream
from tests.dashboard.api.web_process import Site
from tests.factories import make_attempt, make_endpoint, make_run
from tests.live import eventually


@pytest.fixture
def text(transactional_db: None) -> str:
    return tokens.issue_token(name="a script", scopes=["read"], by=None).text


@pytest.fixture
def run(transactional_db: None) -> Run:
    return make_run(make_endpoint(), planned=3)


def test_a_stream_follows_a_run_to_its_end(site: Site, run: Run, text: str) -> None:
    """The progress, each change, and the end; attempts are counted by outcome as they finish."""
    with Stream(site, run.pk, text) as stream:
        assert stream.answer.headers["Content-Type"] == "text/event-stream"
        first = stream.event()
        with transaction.atomic():
            make_attempt(run, trial=1)
            make_attempt(run, trial=2, outcome="void")
            Run.objects.filter(pk=run.pk).update(done=2)
        second = stream.event()
        runs.cancel_run(run, by="a test")
        third = stream.event()
        end = stream.event()

    assert first == _standing("queued", done=0)
    assert second == _standing("queued", done=2, passed=1, void=1)
    assert third == _standing("abandoned", done=2, passed=1, void=1)
    assert end is None


def test_a_run_that_has_ended_is_told_at_once(site: Site, run: Run, text: str) -> None:
    """One event with the figures of the run, and the end."""
    for trial in range(3):
        make_attempt(run, trial=trial)
    figures = {"done": 3, "passed": 2, "failed": 1}
    ended = {"state": State.FINISHED, "finished_at": timezone.now(), **figures}
    Run.objects.filter(pk=run.pk).update(**ended)

    with Stream(site, run.pk, text) as stream:
        events = [stream.event(), stream.event()]

    assert events == [_standing("finished", **figures), None]


def test_fifty_watchers_cost_no_more_than_one(site: Site, run: Run, text: str) -> None:
    """One query per half second for all, with a pool of four connections."""
    with Stream(site, run.pk, text) as one:
        alone = _count_queries(site, run, [one])
    eventually(site.is_quiet)
    with ExitStack() as stack:
        many = [stack.enter_context(Stream(site, run.pk, text)) for _ in range(50)]
        together = _count_queries(site, run, many)

    assert alone.queries <= alone.allowed
    assert together.queries <= together.allowed


def test_nobody_watching_costs_nothing(site: Site, run: Run, text: str) -> None:
    """The queries stop when the last watcher has disconnected."""
    with Stream(site, run.pk, text) as stream:
        stream.event()

    eventually(site.is_quiet)


def test_too_many_watchers_are_told_to_come_back(site: Site, run: Run, text: str) -> None:
    """A process has a limit; a watcher that leaves makes room."""
    eventually(site.is_quiet)
    with site.limit_watchers(2), ExitStack() as stack:
        first = stack.enter_context(Stream(site, run.pk, text))
        second = stack.enter_context(Stream(site, run.pk, text))
        assert first.event() == second.event()

        with Stream(site, run.pk, text) as third:
            body = json.loads(third.answer.read())
            assert (third.answer.status, body["code"]) == (503, "unavailable")
            assert third.answer.headers["Retry-After"] == "5"
        first.close()

        eventually(lambda: _status(site, run, text) == 200)


def test_a_chunked_body_over_the_limit_is_refused(site: Site, endpoint: Endpoint) -> None:
    """Without a Content-Length the bytes themselves are counted."""
    text = tokens.issue_token(name="a script", scopes=["probe"], by=None).text
    connection = HTTPConnection(urlsplit(site.url).netloc, timeout=60)
    pieces = (b" " * 2**20 for _ in range(9))
    headers = {"Authorization": f"Bearer {text}", "Content-Type": "application/json"}

    path = f"/api/v1/endpoints/{endpoint.slug}/runs"
    connection.request("POST", path, pieces, headers, encode_chunked=True)
    answer = connection.getresponse()

    assert (answer.status, json.loads(answer.read())["code"]) == (413, "too_large")
    connection.close()


@pytest.fixture
def endpoint(transactional_db: None) -> Endpoint:
    return make_endpoint()


def _standing(state: str, **over: int) -> dict[str, Any]:
    return {"state": state, "done": 0, "planned": 3, "passed": 0, "failed": 0, "void": 0, **over}


@dataclass(frozen=True, slots=True)
class QueryCount:
    queries: int
    allowed: int


def _count_queries(site: Site, run: Run, streams: list[Stream]) -> QueryCount:
    """The queries during four changes of the run, each received by all before the next."""
    for stream in streams:
        stream.event()
    began, before = time.monotonic(), site.queries()
    for done in range(1, 5):
        Run.objects.filter(pk=run.pk).update(done=done)
        assert all(stream.event() == _standing("queued", done=done) for stream in streams)
    queries, took = site.queries() - before, time.monotonic() - began
    Run.objects.filter(pk=run.pk).update(done=0)
    assert queries >= 4
    return QueryCount(queries, allowed=int(took / POLL_INTERVAL_S) + 2)


def _status(site: Site, run: Run, text: str) -> int:
    with Stream(site, run.pk, text) as stream:
        return stream.answer.status
