"""The policy in the API; docs/policy.md explains what each field means for a caller."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from dashboard.models import PolicyVersion
from health.detector import BaselineState
from health.modes import Mode
from health.policy import resolve_policy
from health.policy_facts import ActiveMode, PolicyFacts
from health.risk import Risk, RiskRule

_MEASURED = {
    "schema_level": "strict_json_schema",
    "tool_call_format": "openai",
    "parser": None,
    "supports_parallel_tool_use": True,
    "reasoning_replay": "required_same_turn",
    "supports_streaming_tool_use": True,
    "error_repair": "limited",
    "tool_choice": ["auto", "none", "required"],
    "trimmed_history": "taken",
}
# Resolved like any policy, so that the example stays up to date.
EXAMPLE_FACTS = PolicyFacts(
    endpoint="vllm-qwen3",
    provider="qwen",
    model="qwen3-32b",
    endpoint_url="https://inference.example/v1",
    epoch=2,
    stage="write",
    capabilities={name: {"value": value, "trials": 12} for name, value in _MEASURED.items()},
    baseline=BaselineState.FROZEN,
    automatic=[
        ActiveMode(
            Mode.NO_STREAMING_TOOLS,
            "Streams that differ rose from 1% to 22%",
            "2026-05-01T12:01:00+00:00",
            incident=17,
        )
    ],
    manual=[
        ActiveMode(
            Mode.NO_PARALLEL,
            "The agent mixes up results while we upgrade it.",
            "2026-05-01T09:30:00+00:00",
            author="alice",
            expires_at="2026-05-02T09:30:00+00:00",
        )
    ],
    rules=[RiskRule("mcp__docs__*", Risk.READ)],
)
EXAMPLE: dict[str, Any] = {"version": 4218, **resolve_policy(EXAMPLE_FACTS).body}


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid")


class PolicyProfile(_Part):
    provider: str
    model: str
    endpoint: str
    chat_template_hash: str
    epoch: int = Field(description="Which profile of the endpoint")


class PolicyTarget(_Part):
    provider: str
    model: str
    url: str
    # Absent in versions that were stored before these fields.
    dialect: str = Field("", description="What it was measured in; empty: the provider's own")
    options: dict[str, Any] = Field(
        default_factory=dict, description="The request options that it was measured with"
    )


class PolicyCandidate(_Part):
    epoch: int = Field(description="Which profile of the endpoint")
    stage: str
    # Absent in versions that were stored before these fields.
    target: PolicyTarget | None = Field(None, description="What its requests go to")
    changed_by: str = Field("operator", description="operator or vendor: who changed the key")


class AutomaticMode(_Part):
    mode: Mode
    reason: str
    incident: int = Field(description="The incident that switched it on")
    since: datetime


class ManualMode(_Part):
    mode: Mode
    reason: str
    author: str
    since: datetime
    expires_at: datetime | None


class DefaultMode(_Part):
    mode: Mode
    reason: str


class PolicyModes(_Part):
    automatic: list[AutomaticMode]
    manual: list[ManualMode]
    default: list[DefaultMode] = Field(description="Because too little is known, or too bad")
    effective: list[Mode] = Field(description="All of them, each once")


class ToolCalls(_Part):
    wire: str | None = Field(description="The wire format that the endpoint speaks")
    format: str = Field(description="How calls arrive; none: offer no tools")
    parser: str | None = Field(description="The parser of calls that arrive in the text")


class Parallel(_Part):
    allowed: bool
    max_calls_per_turn: int = Field(
        description="The most calls that arrived right in one turn; 0 without tools"
    )


class Streaming(_Part):
    tools: bool = Field(description="false: fetch turns with tools whole")
    text: bool


class Schemas(_Part):
    level: str = Field(description="strict_json_schema, simple_object, string_only, none")
    simplify: bool = Field(description="true: simplify schemas to that level before sending")


class Validation(_Part):
    required: bool
    repairs_allowed: bool = Field(description="false: a call that had to be repaired may not run")
    max_reasks: int = Field(description="How often to ask again for a call that does not fit")


class Replay(_Part):
    rule: str = Field(description="none, same_turn, all_turns, signature, item_pair, behavioural")
    verbatim: bool
    trim: bool = Field(description="Whether old turns may be left out")


class RuleOut(_Part):
    pattern: str
    risk: Risk


class Risks(_Part):
    allowed: list[Risk] = Field(description="Offer and let through only tools of these classes")
    rules: list[RuleOut] = Field(description="Of the operator; the first that fits decides")
    defaults: str = Field(description="The list of known tools that follows: /api/v1/tool-rules")


class Retry(_Part):
    max_retries: int
    on: list[str]


class PolicyOut(_Part):
    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [EXAMPLE]})

    version: int = Field(description="Grows with every change; also the ETag")
    endpoint: str
    target: PolicyTarget | None = Field(
        None, description="What the policy is for: compare it with where your requests go"
    )
    profile: PolicyProfile = Field(description="The one in force")
    candidate: PolicyCandidate | None = Field(
        description="The profile of the present key, where it waits to be promoted"
    )
    stage: str
    stale: bool = Field(description="What was measured is too old")
    baseline: BaselineState
    modes: PolicyModes
    tool_call: ToolCalls
    parallel: Parallel
    streaming: Streaming
    schema_: Schemas = Field(alias="schema")
    validation: Validation
    replay: Replay
    tool_choice: list[str] = Field(description="Values that work; empty: leave the field out")
    risk: Risks
    retry: Retry
    reasons: list[str] = Field(description="Why it is so, in sentences")


class PolicyVersionOut(BaseModel):
    version: int
    at: datetime = Field(description="In force from then on")
    # As it was then: older versions of this program may have resolved other fields.
    policy: dict[str, Any] = Field(description="The answer that was given then")


class PolicyVersionList(BaseModel):
    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "versions": [
                        {"version": 4218, "at": "2026-05-01T12:01:00Z", "policy": EXAMPLE}
                    ],
                    "next_cursor": None,
                }
            ]
        }
    )

    versions: list[PolicyVersionOut]
    next_cursor: int | None = Field(description="Give it as `cursor` for older versions")


def version_out(row: PolicyVersion) -> PolicyVersionOut:
    policy = {"version": row.version, **row.body}
    return PolicyVersionOut(version=row.version, at=row.at, policy=policy)
