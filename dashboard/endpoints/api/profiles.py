"""The profiles of an endpoint, one per profile key."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.http import HttpRequest
from ninja import Router
from pydantic import BaseModel, ConfigDict, Field

from dashboard.api import auth, paging
from dashboard.api.lookups import Slug, find_endpoint
from dashboard.api.paging import Below, Limit
from dashboard.models import Profile

router = Router(tags=["profiles"])
MAX_EPOCH = 2**31 - 1


class ProfileKey(BaseModel):
    provider: str
    model: str
    endpoint: str
    chat_template_hash: str


class ProfileOut(BaseModel):
    epoch: int
    key: ProfileKey
    stage: str = Field(description="shadow, read_only, write, full; rejected, rolled_back")
    dialect: str = Field(description="What its runs spoke; empty: the provider's own")
    options: dict[str, Any] = Field(description="The request options that its runs sent")
    in_force: bool = Field(description="The policy follows this one")
    capabilities: dict[str, Any] = Field(
        description="Each with value, trials and interval. `unsettled` is true where the trials "
        "contradict each other: the value is null or unsettled, and `counts` has each value"
    )
    fingerprint: dict[str, Any]
    probe_version: str
    verified_at: datetime | None
    created_at: datetime
    ended_at: datetime | None = Field(description="null for the profile of the present key")


class ProfileList(BaseModel):
    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "profiles": [
                        {
                            "epoch": 1,
                            "key": {
                                "provider": "openai",
                                "model": "qwen3-32b",
                                "endpoint": "https://inference.example/v1",
                                "chat_template_hash": "",
                            },
                            "stage": "shadow",
                            "dialect": "",
                            "options": {"temperature": 0},
                            "in_force": True,
                            "capabilities": {
                                "supports_parallel_tool_use": {"value": True, "trials": 8}
                            },
                            "fingerprint": {"model": "qwen3-32b"},
                            "probe_version": "tool-probe-v2",
                            "verified_at": "2026-05-01T12:01:00Z",
                            "created_at": "2026-04-01T08:00:00Z",
                            "ended_at": None,
                        }
                    ],
                    "next_cursor": None,
                }
            ]
        }
    )

    profiles: list[ProfileOut]
    next_cursor: int | None = Field(description=paging.NEXT)


@router.get(
    "/{slug:slug}/profiles",
    auth=auth.READ,
    response=ProfileList,
    summary="List the profiles of an endpoint, the present one first",
)
def list_profiles(
    request: HttpRequest, slug: Slug, cursor: Below = MAX_EPOCH, limit: Limit = 100
) -> ProfileList:
    profiles = Profile.objects.filter(
        endpoint=find_endpoint(slug), epoch__lt=min(cursor, MAX_EPOCH)
    )
    page, next_cursor = paging.cut_page(profiles.order_by("-epoch"), limit, lambda row: row.epoch)
    return ProfileList(
        profiles=[_profile_out(profile) for profile in page], next_cursor=next_cursor
    )


def _profile_out(profile: Profile) -> ProfileOut:
    sent = ("dialect", "options")
    same = ("epoch", "stage", "in_force", "capabilities", "fingerprint", "probe_version")
    times = ("verified_at", "created_at", "ended_at")
    return ProfileOut(
        **{name: getattr(profile, name) for name in (*sent, *same, *times)},
        key=ProfileKey(
            provider=profile.provider,
            model=profile.model,
            endpoint=profile.endpoint_url,
            chat_template_hash=profile.chat_template_hash,
        ),
    )
