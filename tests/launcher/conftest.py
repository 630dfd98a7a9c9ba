from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from launcher.datafolder import DataFolder, open_data_folder
from launcher.supervisor import StopRequest, Supervisor


@pytest.fixture
def home(tmp_path: Path) -> DataFolder:
    return open_data_folder(tmp_path / "data")


@pytest.fixture
def lines() -> list[str]:
    """The lines that the supervisor printed."""
    return []


@pytest.fixture
def supervisor(lines: list[str]) -> Iterator[Supervisor]:
    supervisor = Supervisor(lines.append, StopRequest())
    yield supervisor
    supervisor.stop_all()
