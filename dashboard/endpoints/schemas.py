"""Endpoints in the API. A key is write-only."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, StrictBool, StrictInt

from dashboard.core import durations
from dashboard.models import Credential, Endpoint

_EXAMPLE: dict[str, Any] = {
    "slug": "vllm-qwen3-32b",
    "provider": "openai",
    "base_url": "https://inference.example/v1",
    "model": "qwen3-32b",
    "options": {"temperature": 0},
    "dialect": "qwen_preserved",
    "chat_template_hash": "",
    "ttl": "6h",
    "max_concurrency": 4,
    "enabled": True,
    "daily_requests": 2000,
    "daily_tokens": None,
    "price_input": 0.4,
    "price_output": 1.2,
    "currency": "USD",
    "tags": ["eu", "team:search"],
    "team": "search",
}


class EndpointFields(BaseModel):
    """The writable fields of an endpoint, validated by the form of the pages."""

    model_config = ConfigDict(extra="forbid")

    slug: str | None = Field(default=None, description="Its name in addresses")
    provider: str | None = Field(
        default=None, description="Who speaks: openai, anthropic, gemini, …"
    )
    base_url: str | None = Field(default=None, description="As a client library takes it")
    model: str | None = None
    key: str | None = Field(default=None, description="The credential; it is never given out again")
    options: dict[str, Any] | None = Field(default=None, description="Sent with every request")
    dialect: str | None = Field(
        default=None,
        description="What it speaks: deepseek_v32, plain, …; empty: the provider's own",
    )
    chat_template_hash: str | None = Field(
        default=None,
        description="SHA-256 of the chat template, for a server that does not show it",
    )
    ttl: str | None = Field(default=None, description="Probe every: 30m, 6h, 1d")
    max_concurrency: StrictInt | None = Field(default=None, description="Requests at once")
    enabled: StrictBool | None = Field(default=None, description="Probe on schedule")
    daily_requests: StrictInt | None = Field(
        default=None, description="The most a day; null is no limit"
    )
    daily_tokens: StrictInt | None = Field(
        default=None, description="The most a day; null is no limit"
    )
    price_input: float | None = Field(default=None, description="Of a million input tokens")
    price_output: float | None = Field(default=None, description="Of a million output tokens")
    currency: str | None = Field(default=None, description="A short word, such as USD")
    tags: list[Annotated[str, Field(pattern=r"^[^\s,]+$")]] | None = Field(
        default=None, description="Words to find and group it by"
    )
    team: str | None = Field(
        default=None, description="Whose it is, by the team's name; null: of no team"
    )


class EndpointIn(EndpointFields):
    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [{**_EXAMPLE, "key": "sk-…"}],
            "required": ["slug", "provider", "base_url", "model"],
        },
    )


class EndpointPatch(EndpointFields):
    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [{"updated_at": "2026-05-01T12:00:00.123456Z", "ttl": "30m"}]
        },
    )

    updated_at: AwareDatetime = Field(
        description="As it was read: a change by somebody else in between is a conflict"
    )
    forget_key: StrictBool = Field(default=False, description="Delete the stored credential")


class Key(BaseModel):
    stored: bool
    hint: str = Field(description="Its last characters")


class EndpointOut(BaseModel):
    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    **_EXAMPLE,
                    "key": {"stored": True, "hint": "mnop"},
                    "next_due_at": "2026-05-01T18:00:00Z",
                    "last_finished_at": "2026-05-01T12:01:00Z",
                    "created_at": "2026-04-01T08:00:00Z",
                    "updated_at": "2026-05-01T12:00:00.123456Z",
                }
            ]
        }
    )

    slug: str
    provider: str
    base_url: str
    model: str
    options: dict[str, Any]
    dialect: str = Field(description="Empty: the provider's own")
    chat_template_hash: str = Field(description="As declared; a template that it shows wins")
    ttl: str
    max_concurrency: int
    enabled: bool
    daily_requests: int | None
    daily_tokens: int | None
    price_input: float | None
    price_output: float | None
    currency: str
    tags: list[str]
    team: str | None
    key: Key
    next_due_at: datetime
    last_finished_at: datetime | None
    created_at: datetime
    updated_at: datetime


class EndpointList(BaseModel):
    endpoints: list[EndpointOut]
    next_cursor: str | None = Field(description="Give it as `cursor` for what follows")

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"endpoints": [], "next_cursor": None}]}
    )


def endpoint_out(endpoint: Endpoint) -> EndpointOut:
    """Requires an endpoint that was selected with its credential."""
    credential: Credential | None = getattr(endpoint, "credential", None)
    same = ("slug", "provider", "base_url", "model", "options", "max_concurrency", "enabled")
    asked = ("dialect", "chat_template_hash")
    times = ("next_due_at", "last_finished_at", "created_at", "updated_at")
    limits = ("daily_requests", "daily_tokens", "price_input", "price_output", "currency", "tags")
    return EndpointOut(
        **{name: getattr(endpoint, name) for name in (*same, *asked, *times, *limits)},
        ttl=durations.format_duration(endpoint.ttl),
        team=endpoint.team.name if endpoint.team else None,
        key=Key(stored=credential is not None, hint=credential.hint if credential else ""),
    )
