from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.utils import translation


@pytest.fixture(autouse=True)
def _reset_language() -> Iterator[None]:
    """A request sets the language of the thread, which the next test would inherit."""
    yield
    translation.deactivate()
