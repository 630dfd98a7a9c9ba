"""API schemas of rollout requests and of the gate of an endpoint."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from dashboard.api import paging
from dashboard.models import RolloutRequest
from dashboard.models.profile import Stage
from dashboard.trust import rollout_requests
from dashboard.trust.decision_evidence import EvidenceChange
from health.gates import GateCondition, GateResult

_STAGE = "shadow, read_only, write, full; rejected, rolled_back"
_CHANGED: dict[str, Any] = {
    "part": "capabilities.parser",
    "before": "none",
    "after": "hermes",
    "words": "A capability (parser) changed: it was none, and is hermes now.",
}
_REQUEST: dict[str, Any] = {
    "id": 8,
    "kind": "stage",
    "endpoint": "vllm-qwen3",
    "epoch": 2,
    "from_stage": "read_only",
    "to_stage": "write",
    "mode": None,
    "state": "pending",
    "reason": "A week without an incident.",
    "requested_by": "olga",
    "requested_by_token": "k3v9a2mm",
    "requested_at": "2026-05-01T12:00:00Z",
    "expires_at": "2026-05-08T12:00:00Z",
    "four_eyes": True,
    "decided_by": None,
    "decided_at": None,
    "decision_reason": "",
    "gates": 3,
    "digest": "5f0dbd5d" * 8,
}
_CONDITION: dict[str, Any] = {
    "key": "rate.parse_success",
    "state": "met",
    "words": "Parse success is surely at 90% or more.",
    "figure": 0.964,
    "wanted": 0.9,
    "evidence": ["metric", "parse_success"],
}


class ReasonIn(BaseModel):
    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"reason": "A week without an incident."}]}
    )

    reason: str = Field(description="Why: others will want to know it")


class ReasonMayBeIn(BaseModel):
    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"reason": "The template changes first."}]}
    )

    reason: str = Field(default="", description="Why, if others should know it")


class StepBackIn(BaseModel):
    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={"examples": [{"to": "read_only", "reason": "It deletes files."}]},
    )

    to: Stage = Field(description="A stage that allows less; `rejected` says it is not wanted")
    reason: str = Field(description="Why: others will want to know it")
    epoch: int | None = Field(
        default=None, ge=0, le=2**31 - 1, description="Which profile; null is the one in force"
    )


class ChangedOut(BaseModel):
    part: str = Field(description="Of the evidence, such as capabilities.parser")
    before: str
    after: str
    words: str = Field(description="The same as a sentence")


class RolloutOut(BaseModel):
    model_config = ConfigDict(json_schema_extra={"examples": [_REQUEST]})

    id: int
    kind: str = Field(description="stage: the next stage of a profile; unpin: to let go of a mode")
    endpoint: str
    epoch: int = Field(description="Which profile of the endpoint")
    from_stage: str = Field(description=_STAGE)
    to_stage: str = Field(description="As `from_stage` where a mode is to be let go of")
    mode: int | None = Field(description="The pinned mode, by its id, that is to be let go of")
    state: str = Field(description="pending; approved, rejected, withdrawn, voided, expired")
    reason: str
    requested_by: str
    requested_by_token: str | None = Field(description="The prefix of the token it was asked with")
    requested_at: datetime
    expires_at: datetime
    four_eyes: bool = Field(description="Whoever asked may not approve")
    decided_by: str | None
    decided_at: datetime | None
    decision_reason: str
    gates: int | None = Field(description="The version of the gates; null is the default ones")
    digest: str = Field(description="sha256 of the evidence, in hexadecimal")


class RolloutDetail(RolloutOut):
    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    **_REQUEST,
                    "evidence": {"runs": [41, 42], "stage": "read_only"},
                    "differs": [],
                    "changed": [_CHANGED],
                }
            ]
        }
    )

    evidence: dict[str, Any] = Field(description="All that the decision is bound to")
    differs: list[ChangedOut] = Field(
        description="Of a pending one: what is different now, so that it can only be void"
    )
    changed: list[ChangedOut] = Field(description="Of a voided one: what had changed")


class RolloutList(BaseModel):
    model_config = ConfigDict(
        json_schema_extra={"examples": [{"rollouts": [_REQUEST], "next_cursor": 8}]}
    )

    rollouts: list[RolloutOut]
    next_cursor: int | None = Field(description=paging.NEXT)


class ConditionOut(BaseModel):
    key: str = Field(description="runs, rate.parse_success, live.schema_failure, baseline, age, …")
    state: str = Field(description="met, not_met, inconclusive (more trials settle it), no_data")
    words: str
    figure: float | int | str | None
    wanted: float | int | str
    evidence: list[int | str] | None = Field(
        description="What it rests on: run, incident, metric or profile, and which"
    )


class StandingOut(BaseModel):
    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "epoch": 2,
                    "stage": "read_only",
                    "next": "write",
                    "gates": 3,
                    "may_be_asked": True,
                    "paused": False,
                    "pending": None,
                    "conditions": [_CONDITION],
                    "in_force": {"epoch": 2, "stage": "read_only"},
                }
            ]
        }
    )

    epoch: int = Field(description="Which profile: that of the present key")
    stage: str = Field(description=_STAGE)
    next: str | None = Field(description="What may be asked for; null at the top")
    gates: int | None = Field(description="The version of the gates; null is the default ones")
    may_be_asked: bool = Field(description="Every condition is met")
    paused: bool = Field(description="Nothing speaks against it, and something is not known yet")
    pending: int | None = Field(description="The request that waits for a decision")
    conditions: list[ConditionOut]
    in_force: dict[str, Any] = Field(
        description="The profile that the policy follows: an older one until this is promoted"
    )


def rollout_out(request: RolloutRequest) -> RolloutOut:
    return RolloutOut(**_fields(request))


def rollout_detail(request: RolloutRequest) -> RolloutDetail:
    is_pending = request.state == RolloutRequest.State.PENDING
    differs = rollout_requests.find_evidence_changes(request) if is_pending else []
    changes = [EvidenceChange(*each) for each in request.changed]
    return RolloutDetail(
        **_fields(request),
        evidence=request.evidence,
        differs=_changes_out(differs),
        changed=_changes_out(changes),
    )


def conditions_out(gate_result: GateResult) -> list[ConditionOut]:
    return [_condition_out(condition) for condition in gate_result.conditions]


def _condition_out(condition: GateCondition) -> ConditionOut:
    return ConditionOut(**condition.as_json(), words=condition.text)


def _changes_out(changes: Iterable[EvidenceChange]) -> list[ChangedOut]:
    return [
        ChangedOut(part=each.part, before=each.before, after=each.after, words=each.text)
        for each in changes
    ]


def _fields(request: RolloutRequest) -> dict[str, Any]:
    same_name = (
        *("id", "kind", "from_stage", "to_stage", "state", "reason", "requested_at"),
        *("expires_at", "four_eyes", "decided_at", "decision_reason"),
    )
    token = request.requested_token
    return {
        **{name: getattr(request, name) for name in same_name},
        "endpoint": request.profile.endpoint.slug,
        "epoch": request.profile.epoch,
        "mode": request.switch_id,
        "requested_by": request.requested_by.get_username(),
        "requested_by_token": token.prefix if token else None,
        "decided_by": request.decided_by.get_username() if request.decided_by else None,
        "gates": request.gates_id,
        "digest": bytes(request.digest).hex(),
    }
