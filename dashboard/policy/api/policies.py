"""API of the policy of an endpoint, cheap to poll."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.utils.cache import get_conditional_response
from ninja import Router
from pydantic_core import to_json

from dashboard.api import auth, paging
from dashboard.api.errors import not_found_error
from dashboard.api.lookups import Slug, find_endpoint
from dashboard.api.paging import MAX_ID, Below, Limit
from dashboard.models import PolicyVersion
from dashboard.policy.schemas import PolicyOut, PolicyVersionList, version_out
from dashboard.trust.policy_renewal import current_policy

router = Router(tags=["policy"])


@router.get(
    "/{slug:slug}/policy",
    auth=auth.READ,
    response={200: PolicyOut, 304: None},
    by_alias=True,
    summary="Read what holds now",
)
def read_policy(request: HttpRequest, slug: Slug) -> HttpResponseBase:
    """Send the `ETag` of the last answer as `If-None-Match`: 304 says that nothing has changed."""
    policy = current_policy(slug)
    if policy is None:
        raise not_found_error("endpoint")
    # It was validated when it was resolved; validating it again would only cost time.
    body = to_json({"version": policy.version, **policy.body})
    response = HttpResponse(body, content_type="application/json")
    response.headers["Cache-Control"] = "private, no-cache"
    etag = f'"{policy.version}"'
    response.headers["ETag"] = etag
    return get_conditional_response(request, etag=etag, response=response) or response


@router.get(
    "/{slug:slug}/policy/versions",
    auth=auth.READ,
    response=PolicyVersionList,
    summary="List what held before, newest first",
)
def list_policy_versions(
    request: HttpRequest,
    slug: Slug,
    cursor: Below = MAX_ID,
    limit: Limit = 20,
) -> PolicyVersionList:
    rows = PolicyVersion.objects.filter(endpoint=find_endpoint(slug), version__lt=cursor)
    page, next_cursor = paging.cut_page(rows.order_by("-version"), limit, lambda row: row.version)
    return PolicyVersionList(versions=[version_out(row) for row in page], next_cursor=next_cursor)
