from __future__ import annotations

import pytest

from dashboard.core.errors import Refused
from dashboard.endpoints.services import endpoints
from dashboard.endpoints.tags import check_tags
from tests.factories import make_endpoint


def test_tags_are_kept_in_one_way() -> None:
    """Case, order and repetition do not matter; any alphabet will do."""
    assert check_tags([" EU ", "prod", "eu", "", "团队:搜索"]) == ["eu", "prod", "团队:搜索"]


@pytest.mark.parametrize("tag", ["two words", "-", "a" * 41, "<b>", "a\u202eb", "a\0"])
def test_what_cannot_be_a_tag_is_refused(tag: str) -> None:
    """The message says what may be in one."""
    with pytest.raises(Refused, match="cannot be a tag"):
        check_tags([tag])


def test_there_are_not_too_many() -> None:
    """A row has room for some."""
    with pytest.raises(Refused, match="At most 20 tags: there are 21"):
        check_tags(map(str, range(21)))


def test_an_endpoint_is_tagged_and_tagged_anew(db: None) -> None:
    """Registering and changing go by the same rules."""
    endpoint = make_endpoint(tags=["EU"])

    updated = endpoints.update(endpoint, key=None, forget_key=False, tags=["Prod", "prod"])

    assert endpoint.tags == ["eu"]
    assert updated.endpoint.tags == ["prod"]
