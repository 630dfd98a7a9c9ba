"""Template filters and tags for stages and requests."""

from __future__ import annotations

from typing import Any

from django import template

from dashboard.models import RolloutRequest
from dashboard.rollouts import text

register = template.Library()

_State = RolloutRequest.State
# States differ in shape as well as in colour. Paths on a 12 x 12 grid.
_SHAPES = {
    _State.PENDING: "M1 5h2.4v2.4H1Zm3.8 0h2.4v2.4H4.8Zm3.8 0H11v2.4H8.6Z",
    _State.APPROVED: "M6 1a5 5 0 1 0 0 10A5 5 0 0 0 6 1Z",
    _State.REJECTED: "M1.5 1.5h9v9h-9Z",
    _State.WITHDRAWN: "M1 5h10v2H1Z",
    _State.VOIDED: "M6 1 11.5 11H.5Z",
    _State.EXPIRED: "M6 1a5 5 0 1 0 0 10A5 5 0 0 0 6 1Zm0 2v6a3 3 0 0 1 0-6Z",
}
_KINDS = {
    _State.APPROVED: "healthy",
    _State.REJECTED: "failing",
    _State.VOIDED: "degraded",
}


@register.inclusion_tag("parts/_status.html")
def request_badge(request: RolloutRequest) -> dict[str, Any]:
    state = _State(request.state)
    label = text.state_label(request)
    return {"kind": _KINDS.get(state, "idle"), "path": _SHAPES[state], "label": label}


@register.filter
def stage_name(stage: str) -> str:
    return text.stage_name(stage)


@register.filter
def stage_access(stage: str) -> str:
    return text.stage_access(stage)


@register.filter
def request_label(request: RolloutRequest) -> str:
    return text.request_label(request)
