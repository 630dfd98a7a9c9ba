from __future__ import annotations

import base64
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from launcher.datafolder import DataFolder, lock_data_folder, open_data_folder
from launcher.errors import LaunchError


def test_keys_are_made_once_and_for_us_alone(home: DataFolder) -> None:
    """A second start finds the same keys, in files that only their owner may read."""
    files = [home.secret_key_file(), home.credential_keys_file()]
    first = [file.read_text() for file in files]

    assert [home.secret_key_file().read_text(), home.credential_keys_file().read_text()] == first
    assert [file.stat().st_mode & 0o777 for file in files] == [0o600, 0o600]
    assert len(first[0].strip()) >= 50
    assert len(base64.b64decode(first[1])) == 32


def test_vendors_keep_their_port(home: DataFolder) -> None:
    """Registered demo endpoints stay valid, because the vendors use the same port again."""
    assert home.vendors_port() == open_data_folder(home.path).vendors_port()


def test_the_story_of_the_vendors_begins_a_month_ago_and_once(home: DataFolder) -> None:
    """Every later start, with the demo or without, continues the same history."""
    earliest = datetime.now(UTC).replace(microsecond=0) - timedelta(days=30)
    began = home.vendors_since(begin=True)

    assert began is not None
    assert earliest <= datetime.fromisoformat(began) <= datetime.now(UTC) - timedelta(days=30)
    (home.path / "vendors-since").write_text("2026-01-31T12:00:00+00:00\n")
    again = open_data_folder(home.path)
    assert again.vendors_since(begin=True) == "2026-01-31T12:00:00+00:00"
    assert again.vendors_since(begin=False) == "2026-01-31T12:00:00+00:00"


def test_a_start_without_the_demo_begins_no_story(home: DataFolder) -> None:
    """The vendors' clock begins with them then."""
    assert home.vendors_since(begin=False) is None
    assert not (home.path / "vendors-since").exists()


def test_a_spoilt_beginning_is_explained(home: DataFolder) -> None:
    """The message names the file."""
    (home.path / "vendors-since").write_text("yesterday\n")

    with pytest.raises(LaunchError, match="vendors-since holds no timestamp"):
        home.vendors_since(begin=True)


def test_second_start_is_told_who_holds_the_folder(home: DataFolder) -> None:
    """The message names the process and the address of the one that runs."""
    message = rf"already running here \(pid {os.getpid()}, http://127.0.0.1:8000\)"

    with (
        lock_data_folder(home, "http://127.0.0.1:8000"),
        pytest.raises(LaunchError, match=message),
        lock_data_folder(home, "http://127.0.0.1:9000"),
    ):
        pass


def test_folder_is_free_again_after_a_stop(home: DataFolder) -> None:
    """The lock is released with its process; the remaining file means nothing."""
    with lock_data_folder(home, "http://127.0.0.1:8000"):
        pass

    with lock_data_folder(home, "http://127.0.0.1:8000"):
        assert (home.path / "run.lock").exists()


def test_folder_that_cannot_be_made_is_explained(tmp_path: Path) -> None:
    """A path through a file ends in a sentence that names the option to use."""
    (tmp_path / "file").write_text("")

    with pytest.raises(LaunchError, match="--data-dir"):
        open_data_folder(tmp_path / "file" / "data")
