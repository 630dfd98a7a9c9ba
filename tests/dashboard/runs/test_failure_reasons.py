"""The reason of a run without a verdict is stored in English and shown translated."""

from __future__ import annotations

import pytest
from django.utils import translation

from dashboard.runs import services as runs
from dashboard.runs.failure_reasons import FailureReason, translate_reason
from probes.suite.sampling import Price
from tests.factories import make_endpoint


@pytest.mark.parametrize(
    ("limits", "budget"),
    [
        ({"daily_requests": 1200}, "1,200 requests"),
        ({"daily_tokens": 5}, "5 tokens"),
        ({"daily_requests": 7, "daily_tokens": 5}, "7 requests and 5 tokens"),
    ],
)
@pytest.mark.django_db
def test_a_budget_reason_is_recognised(limits: dict[str, int], budget: str) -> None:
    """The reason that the service writes is recognised with any combination of limits."""
    stored = runs._budget_reason(make_endpoint(**limits), Price(30, 4000))

    assert translate_reason(stored) == FailureReason(message=stored)
    assert budget in stored


def test_text_of_an_endpoint_is_not_translated() -> None:
    """Our message is translated; text of an endpoint is kept as detail."""
    assert translate_reason("No verdict. The tag: <b>.") == FailureReason(
        "No verdict.", "The tag: <b>."
    )
    assert translate_reason("Whatever else.") == FailureReason(detail="Whatever else.")
    assert translate_reason("") == FailureReason()


def test_a_name_may_look_like_a_placeholder() -> None:
    """The name of the user who cancelled a run is not formatted."""
    with translation.override("zh-hans"):
        assert "{x}" in translate_reason("cancelled by {x}").message
