"""No input causes a server error."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dashboard.endpoints.schemas import EndpointFields, EndpointPatch
from dashboard.runs.telemetry_schemas import Event
from tests.dashboard.api.client import ApiClient
from tests.factories import make_attempt, make_endpoint, make_run

hostile = settings(
    max_examples=40,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)

texts = st.one_of(
    st.text(max_size=20),
    st.sampled_from(["steady", "nul\0", "2026-05-01T12:00:00Z", "9999-12-31T23:59:59+14:00", "5m"]),
)
values = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), texts),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=5,
)


def objects(*names: str) -> st.SearchStrategy[Any]:
    """Objects with some of the valid fields, and arbitrary values."""
    return values | st.dictionaries(st.sampled_from(names) | texts, values, max_size=6)


BODIES = {
    "POST /endpoints": objects(*EndpointFields.model_fields),
    "PATCH /endpoints/steady": objects(*EndpointPatch.model_fields).map(
        lambda body: (
            {"updated_at": "2026-05-01T12:00:00Z", **body} if isinstance(body, dict) else body
        )
    ),
    "POST /endpoints/steady/runs": objects("suite"),
    "POST /telemetry": st.builds(
        lambda *events: {"batch_id": "6f1c2b1e-8a55-4d0e-9b57-2f6f0c1f7f10", "events": events},
        objects(*Event.model_fields),
        objects(*Event.model_fields).map(
            lambda event: (
                {"endpoint": "steady", "at": "2026-05-01T12:00:00Z", **event}
                if isinstance(event, dict)
                else event
            )
        ),
    ),
}


@pytest.mark.parametrize("operation", BODIES)
def test_no_body_breaks_an_operation(api: ApiClient, operation: str) -> None:
    """Any JSON is accepted or refused with a message."""
    make_endpoint()
    method, path = operation.split(" ")

    @hostile
    @given(BODIES[operation])
    def try_one(body: Any) -> None:
        assert api.send(method, path, body).status_code < 500

    try_one()


ADDRESSES = [
    "/endpoints/{}",
    "/endpoints/{}/runs",
    "/endpoints?cursor={}&limit={}",
    "/endpoints/steady/runs?cursor={}&state={}&limit={}",
    "/endpoints/steady/metrics?metric={}&lane={}&from={}&to={}",
    "/endpoints/steady/metrics?from={}",
    "/endpoints/steady/metrics?to={}",
    "/runs/{}",
    "/runs/{}/attempts",
    "/runs/1/attempts/{}/{}/evidence",
    "/{}",
]


@pytest.mark.parametrize("address", ADDRESSES)
def test_no_address_breaks_an_operation(api: ApiClient, address: str) -> None:
    """Any text in a path is handled."""
    make_attempt(make_run(make_endpoint(), id=1))
    segments = texts | st.integers().map(str)

    @hostile
    @given(st.lists(segments, min_size=4, max_size=4))
    def try_one(chosen: list[str]) -> None:
        path = address.format(*(quote(segment, safe="") for segment in chosen))
        assert api.client.get(f"/api/v1{path}", headers=api.headers).status_code < 500

    try_one()
