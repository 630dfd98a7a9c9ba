"""Rollouts: request the next stage, decide on a request, step back."""

from __future__ import annotations

from typing import Annotated

from django.http import HttpRequest
from ninja import Path, Query, Router
from ninja.responses import Status

from dashboard.api import auth, paging
from dashboard.api.errors import not_found_error
from dashboard.api.lookups import Slug, find_endpoint
from dashboard.api.paging import MAX_ID, Below, Limit
from dashboard.models import Endpoint, ModeSwitch, RolloutRequest
from dashboard.models.profile import Stage
from dashboard.models.rollout import RolloutRequestQuerySet
from dashboard.rollouts.schemas import (
    ReasonIn,
    ReasonMayBeIn,
    RolloutDetail,
    RolloutList,
    StandingOut,
    StepBackIn,
    conditions_out,
    rollout_detail,
    rollout_out,
)
from dashboard.trust import rollout_requests as service

of_endpoint = Router(tags=["rollouts"])
router = Router(tags=["rollouts"])
RequestId = Annotated[int, Path(ge=1, le=MAX_ID, description="The request's id")]
SwitchId = Annotated[int, Path(ge=1, le=MAX_ID, description="The `id` in the list of modes")]


@of_endpoint.get(
    "/{slug:slug}/gate",
    auth=auth.READ,
    response=StandingOut,
    summary="Read what the next stage asks for, and whether it may be asked for",
)
def read_gate(request: HttpRequest, slug: Slug) -> StandingOut:
    """Each condition with its figures and what they rest on."""
    return _standing_out(find_endpoint(slug))


@of_endpoint.post(
    "/{slug:slug}/rollout",
    auth=auth.OPERATE,
    response={201: RolloutDetail},
    summary="Ask for the next stage",
)
def ask_for_stage(request: HttpRequest, slug: Slug, body: ReasonIn) -> Status[RolloutDetail]:
    """Of the profile of the present key. Somebody else decides; what the request rests on is kept
    with it, and if any of that changes before, the request is void."""
    by, token = auth.token_owner(request), auth.request_token(request)
    created = service.request_promotion(
        find_endpoint(slug).profile, by=by, reason=body.reason, token=token
    )
    return Status(201, rollout_detail(_find_request(created.pk)))


@of_endpoint.post(
    "/{slug:slug}/step-back",
    auth=auth.TIGHTEN,
    response=StandingOut,
    summary="Trust an endpoint less, at once",
)
def step_back(request: HttpRequest, slug: Slug, body: StepBackIn) -> StandingOut:
    """One person is enough for it; going forward again takes a request and a decision."""
    by = auth.token_owner(request)
    endpoint = find_endpoint(slug)
    if body.epoch is None:
        profile = endpoint.profile_in_force
    elif (named := endpoint.profiles.filter(epoch=body.epoch).first()) is not None:
        profile = named
    else:
        raise not_found_error("profile")
    if body.to is Stage.REJECTED:
        service.reject_profile(profile, by=by, reason=body.reason)
    else:
        service.step_back(profile, to=body.to.value, by=by, reason=body.reason)
    return _standing_out(find_endpoint(slug))


@of_endpoint.post(
    "/{slug:slug}/modes/{int:switch_id}/unpin",
    auth=auth.OPERATE,
    response={201: RolloutDetail},
    summary="Ask that a pinned mode be let go of",
)
def ask_to_unpin(
    request: HttpRequest, slug: Slug, switch_id: SwitchId, body: ReasonIn
) -> Status[RolloutDetail]:
    """One person pins a mode; letting go of it takes a second one, who decides on the request."""
    by, token = auth.token_owner(request), auth.request_token(request)
    switches = ModeSwitch.objects.filter(profile__endpoint=find_endpoint(slug), off_at=None)
    switch = switches.select_related("profile").filter(pk=switch_id).first()
    if switch is None:
        raise not_found_error("mode that is on")
    created = service.request_unpin(switch, by=by, reason=body.reason, token=token)
    return Status(201, rollout_detail(_find_request(created.pk)))


@router.get("", auth=auth.READ, response=RolloutList, summary="List requests, newest first")
def list_rollouts(
    request: HttpRequest,
    state: Annotated[
        RolloutRequest.State | None, Query(description="Only those in this state")
    ] = None,
    endpoint: Annotated[str, Query(description="Only those of this endpoint")] = "",
    cursor: Below = MAX_ID,
    limit: Limit = 50,
) -> RolloutList:
    requests = _requests().filter(pk__lt=cursor).newest_first()
    teams = auth.readable_teams(request)
    if teams is not None:
        requests = requests.filter(profile__endpoint__team__in=teams)
    if state:
        requests = requests.filter(state=state)
    if endpoint:
        requests = requests.filter(profile__endpoint__slug=endpoint.replace("\0", ""))
    page, next_cursor = paging.cut_page(requests, limit, lambda each: each.pk)
    return RolloutList(rollouts=[rollout_out(each) for each in page], next_cursor=next_cursor)


@router.get("/{int:request_id}", auth=auth.READ, response=RolloutDetail, summary="Read one request")
def read_rollout(request: HttpRequest, request_id: RequestId) -> RolloutDetail:
    """With all that it rests on, and what of that is different now."""
    return rollout_detail(_find_request(request_id))


@router.post(
    "/{int:request_id}/approve",
    auth=auth.DECIDE,
    response=RolloutDetail,
    summary="Let what was asked for happen",
)
def approve_rollout(request: HttpRequest, request_id: RequestId, body: ReasonIn) -> RolloutDetail:
    """Refused for whoever asked, by page or by any token of theirs. Refused too if anything that it
    rests on has changed: then the request is void, and `detail` says what changed."""
    service.approve(_find_request(request_id), by=auth.token_owner(request), reason=body.reason)
    return rollout_detail(_find_request(request_id))


@router.post("/{int:request_id}/reject", auth=auth.DECIDE, response=RolloutDetail, summary="Say no")
def reject_rollout(request: HttpRequest, request_id: RequestId, body: ReasonIn) -> RolloutDetail:
    """The stage stays as it is; another request may be made."""
    service.reject(_find_request(request_id), by=auth.token_owner(request), reason=body.reason)
    return rollout_detail(_find_request(request_id))


@router.post(
    "/{int:request_id}/withdraw",
    auth=auth.OPERATE,
    response=RolloutDetail,
    summary="Take a request back",
)
def withdraw_rollout(
    request: HttpRequest, request_id: RequestId, body: ReasonMayBeIn
) -> RolloutDetail:
    """By whoever asked, or anybody who may ask."""
    service.withdraw(_find_request(request_id), by=auth.token_owner(request), reason=body.reason)
    return rollout_detail(_find_request(request_id))


def _standing_out(endpoint: Endpoint) -> StandingOut:
    profile, in_force = endpoint.profile, endpoint.profile_in_force
    gate_result = service.read_gate_result(profile)
    pending = profile.requests.pending().filter(kind=RolloutRequest.Kind.STAGE).first()
    return StandingOut(
        epoch=profile.epoch,
        stage=gate_result.stage,
        next=gate_result.next,
        gates=gate_result.version,
        may_be_asked=gate_result.is_met,
        paused=gate_result.paused,
        pending=pending.pk if pending else None,
        conditions=conditions_out(gate_result),
        in_force={"epoch": in_force.epoch, "stage": in_force.stage},
    )


def _find_request(request_id: int) -> RolloutRequest:
    request = _requests().filter(pk=request_id).first()
    if request is None:
        raise not_found_error("request")
    return request


def _requests() -> RolloutRequestQuerySet:
    requests = RolloutRequest.objects.filter(profile__endpoint__removed_at=None)
    return requests.select_related(
        "profile__endpoint", "requested_by", "decided_by", "requested_token", "switch"
    )
