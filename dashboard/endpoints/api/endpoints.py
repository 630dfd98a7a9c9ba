"""Endpoints in the API, with the rules and services of the pages."""

from __future__ import annotations

import json
from typing import Annotated, Any

from django.http import HttpRequest
from ninja import Query, Router
from ninja.responses import Status

from dashboard.api import auth, paging
from dashboard.api.errors import ApiError, Detail
from dashboard.api.lookups import Slug, find_endpoint, kept_endpoints
from dashboard.core import permissions
from dashboard.endpoints.forms import EndpointForm
from dashboard.endpoints.schemas import (
    EndpointFields,
    EndpointIn,
    EndpointList,
    EndpointOut,
    EndpointPatch,
    endpoint_out,
)
from dashboard.endpoints.services import endpoints as service

router = Router(tags=["endpoints"])


@router.get("", auth=auth.READ, response=EndpointList, summary="List endpoints by name")
def list_endpoints(
    request: HttpRequest,
    cursor: Annotated[str, Query(description="The `next_cursor` of the page before")] = "",
    limit: Annotated[int, Query(ge=1, le=500)] = 100,
) -> EndpointList:
    after = cursor.replace("\0", "")
    readable = kept_endpoints().of_teams(auth.readable_teams(request))
    following = readable.filter(slug__gt=after).order_by("slug")
    page, next_cursor = paging.cut_page(following, limit, lambda each: each.slug)
    return EndpointList(endpoints=[endpoint_out(e) for e in page], next_cursor=next_cursor)


@router.post("", auth=auth.OPERATE, response={201: EndpointOut}, summary="Register an endpoint")
def create_endpoint(request: HttpRequest, body: EndpointIn) -> Status[EndpointOut]:
    """It is due at once: its first run is the full suite."""
    form = EndpointForm({**_defaults(), **_form_data(body)}, actor=permissions.actor_of(request))
    _check_team(body, form)
    created = service.create(**_validated(form).fields_to_create())
    return Status(201, endpoint_out(find_endpoint(created.slug)))


@router.get("/{slug:slug}", auth=auth.READ, response=EndpointOut, summary="Read one endpoint")
def read_endpoint(request: HttpRequest, slug: Slug) -> EndpointOut:
    return endpoint_out(find_endpoint(slug))


@router.patch("/{slug:slug}", auth=auth.OPERATE, response=EndpointOut, summary="Change an endpoint")
def change_endpoint(request: HttpRequest, slug: Slug, body: EndpointPatch) -> EndpointOut:
    """Only what is given changes. Another provider, model, base URL, dialect, declared template or
    request option opens a new profile; another scheme, host or port deletes the stored key, which
    never follows to another host."""
    endpoint = find_endpoint(slug)
    data = {**EndpointForm(endpoint=endpoint).initial, **_form_data(body)}
    data |= {"seen": body.updated_at.isoformat(), "forget_key": body.forget_key}
    form = EndpointForm(data, endpoint=endpoint, actor=permissions.actor_of(request))
    _check_team(body, form)
    by = auth.request_token(request).created_by
    updated = service.update(endpoint, by=by, **_validated(form).cleaned_data)
    return endpoint_out(find_endpoint(updated.endpoint.slug))


@router.delete(
    "/{slug:slug}", auth=auth.OPERATE, response={204: None}, summary="Remove an endpoint"
)
def remove_endpoint(request: HttpRequest, slug: Slug) -> Status[None]:
    """Its key is wiped, a run under way is stopped, and its name is free again."""
    service.remove(find_endpoint(slug))
    return Status(204, None)


def _defaults() -> dict[str, Any]:
    return {
        name: field.initial
        for name, field in EndpointForm.base_fields.items()
        if field.initial is not None
    }


def _form_data(body: EndpointFields) -> dict[str, Any]:
    """The fields that the body sets, as form data."""
    data = body.model_dump(include=set(EndpointFields.model_fields), exclude_unset=True)
    if isinstance(data.get("options"), dict):
        data["options"] = json.dumps(data["options"])
    if isinstance(data.get("tags"), list):
        data["tags"] = ",".join(data["tags"])
    return data


def _check_team(body: EndpointFields, form: EndpointForm) -> None:
    """The form has no team field if there is no team to choose."""
    if body.team and "team" not in form.fields:
        message = f"There is no team {body.team!r} that you may give it to."
        raise ApiError(422, f"team: {message}", details=[Detail(field="team", message=message)])


def _validated(form: EndpointForm) -> EndpointForm:
    if form.is_valid():
        return form
    details = [
        Detail(field="" if name == "__all__" else name, message=str(message))
        for name, messages in form.errors.items()
        for message in messages
    ]
    raise ApiError(422, f"{details[0].field}: {details[0].message}", details=details)
