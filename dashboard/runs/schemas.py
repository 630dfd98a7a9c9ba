"""Schemas of runs and attempts in the API."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from dashboard.api import paging
from dashboard.models import Attempt, Run

RETRIED = (
    "How many answers were retried, by HTTP status; `reconnected` counts requests that were sent "
    "again because the endpoint had closed an idle connection"
)
_RUN: dict[str, Any] = {
    "id": 4711,
    "endpoint": "vllm-qwen3-32b",
    "epoch": 2,
    "trigger": "api",
    "suite": "light",
    "suite_version": "tool-probe-v2",
    "seed": 5128371,
    "state": "running",
    "reason": "",
    "void_kind": "",
    "progress": {"done": 12, "planned": 35},
    "passed": 0,
    "failed": 0,
    "void": 0,
    "requests": 0,
    "input_tokens": 0,
    "output_tokens": 0,
    "retried": {},
    "simulated": False,
    "requested_by": "alice",
    "created_at": "2026-05-01T12:00:00Z",
    "started_at": "2026-05-01T12:00:01Z",
    "finished_at": None,
}


class Suite(StrEnum):
    LIGHT = "light"
    FULL = "full"


class RunIn(BaseModel):
    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"suite": "light"}]})

    suite: Suite = Field(default=Suite.LIGHT, description="light is cheap; full settles everything")


class ProgressOut(BaseModel):
    done: int = Field(description="Attempts that are stored")
    planned: int


class RunOut(BaseModel):
    model_config = ConfigDict(json_schema_extra={"examples": [_RUN]})

    id: int
    endpoint: str
    epoch: int = Field(description="Which profile of the endpoint")
    trigger: str
    suite: str
    suite_version: str
    seed: int = Field(description="A run with the same seed asks the same questions")
    state: str = Field(description="queued, leased, running; finished, failed, abandoned")
    reason: str = Field(description="Why there is no verdict, where there is none")
    void_kind: str = Field(
        "",
        description="The same as a code: the kind of finding that left the run without a verdict, "
        "such as auth_rejected, not_found or unreachable; over_budget if it did not start",
    )
    progress: ProgressOut
    passed: int = Field(description="Counted when the run has ended, as the next five are")
    failed: int
    void: int
    requests: int
    input_tokens: int
    output_tokens: int
    retried: dict[str, int] = Field({}, description=f"{RETRIED}; counted at the end too")
    simulated: bool
    requested_by: str | None
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None


class RunList(BaseModel):
    model_config = ConfigDict(
        json_schema_extra={"examples": [{"runs": [_RUN], "next_cursor": 4711}]}
    )

    runs: list[RunOut]
    next_cursor: int | None = Field(description="Give it as `cursor` for older runs")


class AttemptOut(BaseModel):
    probe: str
    trial: int
    outcome: str = Field(description="pass, fail or void; void never counts in a rate")
    findings: list[dict[str, Any]]
    verdicts: list[list[Any]] = Field(description="[metric, good] for each trial")
    http_status: int | None
    latency_ms: int | None
    first_byte_ms: int | None
    input_tokens: int | None
    output_tokens: int | None
    requests: int
    retried: dict[str, int] = Field({}, description=RETRIED)
    facts: dict[str, Any]
    fingerprint: dict[str, Any]
    has_evidence: bool
    started_at: datetime


class AttemptList(BaseModel):
    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "attempts": [
                        {
                            "probe": "format",
                            "trial": 1,
                            "outcome": "pass",
                            "findings": [],
                            "verdicts": [["parse_success", True]],
                            "http_status": 200,
                            "latency_ms": 812,
                            "first_byte_ms": 240,
                            "input_tokens": 210,
                            "output_tokens": 38,
                            "requests": 1,
                            "retried": {"429": 1},
                            "facts": {},
                            "fingerprint": {"model": "qwen3-32b"},
                            "has_evidence": True,
                            "started_at": "2026-05-01T12:00:02Z",
                        }
                    ],
                    "next_cursor": None,
                }
            ]
        }
    )

    attempts: list[AttemptOut]
    next_cursor: str | None = Field(description=paging.NEXT)


_RUN_FIELDS = (
    *("id", "trigger", "suite", "suite_version", "seed", "state", "reason"),
    *("void_kind", "passed", "failed"),
    *("void", "requests", "input_tokens", "output_tokens", "retried", "simulated"),
    *("created_at", "started_at", "finished_at"),
)
_ATTEMPT_FIELDS = (
    *("probe", "trial", "outcome", "findings", "verdicts", "http_status", "latency_ms"),
    *("first_byte_ms", "input_tokens", "output_tokens", "requests", "retried", "facts"),
    *("fingerprint", "started_at"),
)


def run_out(run: Run) -> RunOut:
    """The schema of a run; needs `endpoint` and `requested_by` selected with it."""
    return RunOut(
        **{name: getattr(run, name) for name in _RUN_FIELDS},
        endpoint=run.endpoint.slug,
        epoch=run.key_epoch,
        progress=ProgressOut(done=run.done, planned=run.planned),
        requested_by=run.requested_by.get_username() if run.requested_by else None,
    )


def attempt_out(attempt: Attempt) -> AttemptOut:
    return AttemptOut(
        **{name: getattr(attempt, name) for name in _ATTEMPT_FIELDS},
        has_evidence=attempt.evidence_sha256 is not None,
    )
