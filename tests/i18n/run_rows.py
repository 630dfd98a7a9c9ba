"""Runs in every state, and attempts with everything that a page can show."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.contrib.auth.models import User
from django.utils import timezone

from dashboard.models import Endpoint, Run
from dashboard.models.run import Trigger
from tests.dashboard.runs.exchange.builders import (
    build_call,
    build_call_message,
    build_chunked_reply,
    build_evidence,
    build_exchange,
    build_reply,
    build_request,
)
from tests.factories import make_attempt, make_finished_run, make_run

_FINDING = {"kind": "leaked_call", "message": "zeta-1", "path": "$.calls[0]"}
# As they are stored: a page translates the ones that it knows.
REASONS = (
    "cancelled by alice",
    "the worker stopped answering",
    "superseded: no worker has this version of the suite any more",
    "the endpoint was removed",
    "superseded by a changed profile key",
)
_NO_ROOM = (
    "The budget of {} a day leaves no room for this run, which may take 9 requests and 1,000 "
    "tokens. Raise the budget, or wait for the next day (UTC)."
)
NO_VERDICT = (
    "No verdict. zeta-1",
    "zeta-1",
    *map(_NO_ROOM.format, ("5 requests", "5 tokens", "5 requests and 1,000 tokens")),
)
TRIALS = (1, 2, 3, 4, 5)


def make_runs(endpoint: Endpoint, person: User) -> tuple[Run, list[Run]]:
    """A finished run, and runs without a verdict."""
    at = timezone.now()
    good = make_finished_run(endpoint, passed=1, at=at - timedelta(hours=5), suite_version="v0")
    call = build_call(input={"message": "hello there", "tag": "alpha"}, raw='{"tag": "alpha"}')
    make_attempt(
        good, evidence=build_evidence(build_exchange(reply=build_reply(build_call_message(call))))
    )
    stopped = [
        make_run(
            endpoint, state="abandoned", reason=reason, finished_at=at - timedelta(hours=4), seq=seq
        )
        for seq, reason in enumerate(REASONS, 10)
    ]
    stopped += [
        make_finished_run(
            endpoint, passed=0, void=5, reason=reason, at=at - timedelta(hours=3), trigger=trigger
        )
        for reason, trigger in zip(
            NO_VERDICT, ("api", "recovery", "baseline", "key_change", "ttl"), strict=True
        )
    ]
    run = make_finished_run(
        endpoint,
        passed=7,
        failed=3,
        void=1,
        requested_by=person,
        trigger=Trigger.MANUAL,
        fingerprint={"server": "zeta-1"},
        fingerprint_changed=True,
        input_tokens=5,
        output_tokens=5,
    )
    _make_attempts(run)
    return run, stopped


def make_active_run(endpoint: Endpoint, person: User) -> Run:
    """An active run, far enough to estimate its end."""
    started = timezone.now() - timedelta(seconds=30)
    lease = {"lease_owner": "host-1", "lease_token": 1, "lease_expires_at": timezone.now()}
    times = {"planned": 40, "started_at": started}
    run = make_run(endpoint, requested_by=person, state="running", slot=1, **times, **lease)
    for trial, outcome in enumerate(("pass", "fail", "void", "pass"), 1):
        make_attempt(run, trial=trial, outcome=outcome, input_tokens=5, output_tokens=5)
    run.refresh_from_db()
    return run


def _make_attempts(run: Run) -> None:
    repaired = build_call(repairs=["zeta-1"], input=None)
    streamed = build_chunked_reply(["data: {", "}\n\n" * 3, "x" * 5000], truncated=True, status=500)
    exchanges = [
        build_exchange(),
        build_exchange(reply=None, error="zeta-1", calls=[]),
        build_exchange(request=build_request(tool_choice="auto", stream=True), reply=streamed),
        build_exchange(
            calls=[repaired], reply=build_reply({"content": "<tool_call>", "reasoning": "x"})
        ),
    ]
    findings = [_FINDING, {**_FINDING, "kind": "wrong_value", "path": "$.calls[0].input.tag"}]
    overrides: tuple[dict[str, Any], ...] = (
        {"outcome": "fail", "findings": findings, "evidence": build_evidence(*exchanges)},
        {"outcome": "void", "http_status": None, "latency_ms": None, "findings": [_FINDING]},
        {"evidence": {"exchanges": [{"label": "asked", "request": {"model": "zeta-1"}}]}},
        {
            "outcome": "fail",
            "findings": [{**_FINDING, "kind": "zeta-1"}],
            "evidence": build_evidence(),
        },
        {"evidence": build_evidence(build_exchange(label="with the result"))},
    )
    for trial, override in zip(TRIALS, overrides, strict=True):
        make_attempt(run, trial=trial, **override)
    make_attempt(run, trial=1, probe="zeta-1", outcome="void")
    make_attempt(run, trial=1, probe="streaming", first_byte_ms=9)
