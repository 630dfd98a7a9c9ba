"""Schemas of live-traffic observations in the API."""

from __future__ import annotations

from typing import Annotated, Any
from uuid import UUID

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, StrictBool, StrictInt

from probes.messages import Stop
from probes.outcomes import Metric

MAX_EVENTS = 5000

# The range of the columns.
Count = Annotated[StrictInt, Field(ge=0, le=2**31 - 1)]

_EVENT: dict[str, Any] = {
    "endpoint": "vllm-qwen3-32b",
    "at": "2026-05-01T12:00:00.250Z",
    "verdicts": {"parse_success": True, "schema_failure": True},
    "latency_ms": 812,
    "first_byte_ms": 240,
    "input_tokens": 210,
    "output_tokens": 38,
    "http_status": 200,
    "end_reason": "tool_calls",
    "request_id": "0191f1c4-6d7c-7c3e-9d0a-3f5a6b7c8d9e",
}


class Event(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    endpoint: str = Field(pattern="^[a-zA-Z0-9_-]{1,60}$", description="The endpoint's name")
    at: AwareDatetime = Field(description="When it happened, by the client's clock")
    verdicts: dict[Metric, StrictBool] = Field(
        default_factory=dict, description="For each metric that had a trial: did it go well?"
    )
    latency_ms: Count | None = None
    first_byte_ms: Count | None = None
    input_tokens: Count | None = None
    output_tokens: Count | None = None
    http_status: Annotated[StrictInt, Field(ge=100, le=599)] | None = None
    end_reason: Stop | None = Field(default=None, description="Why the model stopped")
    request_id: UUID | None = None
    epoch: Count | None = Field(
        default=None, description="Which profile; without it, the one that was current at that time"
    )
    policy_version: Count | None = None


class Batch(BaseModel):
    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [{"batch_id": "6f1c2b1e-8a55-4d0e-9b57-2f6f0c1f7f10", "events": [_EVENT]}]
        },
    )

    batch_id: UUID = Field(description="Drawn by the client; send the same again after a timeout")
    events: list[Event] = Field(max_length=MAX_EVENTS)


class Rejected(BaseModel):
    index: int = Field(description="Which event, from 0")
    message: str


class Receipt(BaseModel):
    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "accepted": 1,
                    "duplicate": False,
                    "rejected": [{"index": 1, "message": "There is no endpoint 'gone'."}],
                }
            ]
        }
    )

    accepted: int = Field(description="How many events are stored of this batch")
    duplicate: bool = Field(description="The batch was stored before; nothing was written now")
    rejected: list[Rejected]
