from __future__ import annotations

import pytest

from dashboard.core.errors import Refused
from dashboard.endpoints.services import endpoints
from dashboard.endpoints.tags import check_tags
from tests.factories import make_endpoint


def test_tags_are_normalised() -> None:
    """Tags are lower case, sorted and unique, in any alphabet."""
    assert check_tags([" EU ", "prod", "eu", "", "团队:搜索"]) == ["eu", "prod", "团队:搜索"]


@pytest.mark.parametrize("tag", ["two words", "-", "a" * 41, "<b>", "a\u202eb", "a\0"])
def test_an_invalid_tag_is_refused(tag: str) -> None:
    """The message lists the allowed characters."""
    with pytest.raises(Refused, match="cannot be a tag"):
        check_tags([tag])


def test_the_number_of_tags_is_limited() -> None:
    """An endpoint has at most 20 tags."""
    with pytest.raises(Refused, match="At most 20 tags: there are 21"):
        check_tags(map(str, range(21)))


def test_tags_are_normalised_on_create_and_update(db: None) -> None:
    """Both services apply the same rules."""
    endpoint = make_endpoint(tags=["EU"])

    updated = endpoints.update(endpoint, key=None, forget_key=False, tags=["Prod", "prod"])

    assert endpoint.tags == ["eu"]
    assert updated.endpoint.tags == ["prod"]
