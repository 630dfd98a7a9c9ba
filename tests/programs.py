"""Programs of the machine that some tests need."""

from __future__ import annotations

import os

import pytest


def require_program(path: str | None, advice: str) -> str:
    """Skip the test if the program is missing; on the build machine that is a failure."""
    if path is not None:
        return path
    reason = f"{advice}; nothing was tested here"
    if os.environ.get("CI") == "true":
        pytest.fail(reason)
    pytest.skip(reason)
