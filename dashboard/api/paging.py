"""Pages of lists: `limit` rows after `cursor`, and the cursor of the next page."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, TypeVar

from django.db.models import Model, QuerySet
from ninja import Query

# An id is a bigint.
MAX_ID = 2**63 - 1

Row = TypeVar("Row", bound=Model)
Cursor = TypeVar("Cursor")

# For lists with the newest first, and for lists with the oldest first.
Below = Annotated[int, Query(ge=1, le=MAX_ID, description="The `next_cursor` of the page before")]
Above = Annotated[int, Query(ge=0, le=MAX_ID, description="The `next_cursor` of the page before")]
Limit = Annotated[int, Query(ge=1, le=200, description="The most on a page")]
NEXT = "Give it as `cursor` for what follows; null at the end"


def cut_page(
    rows: QuerySet[Row], limit: int, key: Callable[[Row], Cursor]
) -> tuple[list[Row], Cursor | None]:
    """The rows of a page, and the cursor of the next one if there is one."""
    with_next = list(rows[: limit + 1])
    page = with_next[:limit]
    return page, key(page[-1]) if len(with_next) > limit else None
