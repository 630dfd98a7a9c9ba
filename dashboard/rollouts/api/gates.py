"""The gates: the conditions of each stage, in all their versions."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.http import HttpRequest
from ninja import Router
from pydantic import BaseModel, ConfigDict, Field, StrictInt

from dashboard.api import auth, paging
from dashboard.api.errors import ApiError, Detail
from dashboard.api.paging import MAX_ID, Below, Limit
from dashboard.models import GateVersion
from dashboard.trust import gates as service
from health.gates import DEFAULTS, Gates, find_gate_errors, gates_from_json

router = Router(tags=["gates"])

_VERSION: dict[str, Any] = {
    "version": 3,
    "gates": DEFAULTS.as_json(),
    "reason": "Twice the trials before writing tools.",
    "by": "root",
    "at": "2026-05-01T12:00:00Z",
}


class GatesOut(BaseModel):
    model_config = ConfigDict(json_schema_extra={"examples": [_VERSION]})

    version: int | None = Field(description="null: nobody has changed them, the default ones hold")
    gates: dict[str, dict[str, Any]] = Field(
        description="For each stage that can be asked for, its conditions; docs/rollouts.md"
    )
    reason: str
    by: str | None
    at: datetime | None


class GateVersions(BaseModel):
    model_config = ConfigDict(
        json_schema_extra={"examples": [{"versions": [_VERSION], "next_cursor": 3}]}
    )

    versions: list[GatesOut]
    next_cursor: int | None = Field(description=paging.NEXT)


class GatesIn(BaseModel):
    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [{name: _VERSION[name] for name in ("version", "gates", "reason")}]
        },
    )

    version: StrictInt | None = Field(
        description="As it was read: a change by somebody else in between is a conflict"
    )
    gates: dict[str, dict[str, Any]] = Field(description="All of them, as they are to be")
    reason: str = Field(description="Why: others will want to know it")


@router.get("", auth=auth.READ, response=GatesOut, summary="Read what each stage asks for")
def read_gates(request: HttpRequest) -> GatesOut:
    return _current_out(*GateVersion.current())


@router.put("", auth=auth.ADMINISTER, response=GatesOut, summary="Change what the stages ask for")
def change_gates(request: HttpRequest, body: GatesIn) -> GatesOut:
    """Whatever was asked for under the old ones is void."""
    errors = [
        Detail(field=f"gates.{path}", message=message)
        for path, message in find_gate_errors(body.gates)
    ]
    if errors:
        raise ApiError(422, f"{errors[0].field}: {errors[0].message}", details=errors[:20])
    by, seen = auth.token_owner(request), body.version or 0
    service.change_gates(body.gates, by=by, reason=body.reason, seen=seen)
    return _current_out(*GateVersion.current())


@router.get("/versions", auth=auth.READ, response=GateVersions, summary="List the gates of before")
def list_gate_versions(
    request: HttpRequest, cursor: Below = MAX_ID, limit: Limit = 20
) -> GateVersions:
    """The newest first."""
    versions = GateVersion.objects.filter(pk__lt=cursor).select_related("by").order_by("-id")
    page, next_cursor = paging.cut_page(versions, limit, lambda version: version.pk)
    return GateVersions(versions=[_version_out(each) for each in page], next_cursor=next_cursor)


def _current_out(version: GateVersion | None, gates: Gates) -> GatesOut:
    if version is not None:
        return _version_out(version)
    return GatesOut(version=None, gates=gates.as_json(), reason="", by=None, at=None)


def _version_out(version: GateVersion) -> GatesOut:
    by = version.by.get_username() if version.by else None
    return GatesOut(
        version=version.pk,
        # Conditions that did not exist when it was stored are shown as they are applied.
        gates=gates_from_json(version.body).as_json(),
        reason=version.reason,
        by=by,
        at=version.at,
    )
