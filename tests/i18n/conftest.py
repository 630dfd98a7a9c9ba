from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.utils import translation


@pytest.fixture(autouse=True)
def _english_again() -> Iterator[None]:
    """A request leaves its language with the thread, which the next test would speak."""
    yield
    translation.deactivate()
