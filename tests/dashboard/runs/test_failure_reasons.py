"""Why a run has no verdict is stored in English and told in the reader's language."""

from __future__ import annotations

import pytest
from django.utils import translation

from dashboard.runs import services as runs
from dashboard.runs.failure_reasons import FailureReason, translate_reason
from probes.suite.sampling import Price
from tests.factories import make_endpoint


@pytest.mark.parametrize(
    ("limits", "words"),
    [
        ({"daily_requests": 1200}, "1,200 requests"),
        ({"daily_tokens": 5}, "5 tokens"),
        ({"daily_requests": 7, "daily_tokens": 5}, "7 requests and 5 tokens"),
    ],
)
@pytest.mark.django_db
def test_a_budget_is_told_as_it_was_stored(limits: dict[str, int], words: str) -> None:
    """What the service writes is recognised, whichever limits there are."""
    stored = runs._budget_reason(make_endpoint(**limits), Price(30, 4000))

    assert translate_reason(stored) == FailureReason(message=stored)
    assert words in stored


def test_what_an_endpoint_said_is_kept_apart() -> None:
    """Our part is told; theirs is data."""
    assert translate_reason("No verdict. The tag: <b>.") == FailureReason(
        "No verdict.", "The tag: <b>."
    )
    assert translate_reason("Whatever else.") == FailureReason(detail="Whatever else.")
    assert translate_reason("") == FailureReason()


def test_a_name_may_look_like_a_place() -> None:
    """Who cancelled a run is shown as they are called."""
    with translation.override("zh-hans"):
        assert "{x}" in translate_reason("cancelled by {x}").message
