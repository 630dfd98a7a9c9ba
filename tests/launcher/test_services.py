from __future__ import annotations

import pytest

from launcher import services as parts
from launcher.datafolder import DataFolder
from launcher.process import Command

ENV = {"SIMULATOR_URL": "http://127.0.0.1:8900", "PUBLIC_URL": "http://127.0.0.1:8000"}
SINCE = "2026-01-31T12:00:00+00:00"


def commands(home: DataFolder, since: str | None) -> dict[str, Command]:
    prepared = dict(parts.preparation_commands(ENV, since))
    return prepared | {
        service.name: service.command for service in parts.product_services(ENV, home, 8000, since)
    }


@pytest.mark.parametrize("name", ["vendors", "prepare"])
def test_vendors_and_their_history_begin_at_the_same_moment(home: DataFolder, name: str) -> None:
    """Live simulation continues where the generated history ends."""
    argv = commands(home, SINCE)[name].argv

    assert argv[-2:] == ("--since", SINCE)


def test_without_a_story_nobody_is_told_a_beginning(home: DataFolder) -> None:
    """Without a history, no command gets --since."""
    with_since = [
        name for name, command in commands(home, None).items() if "--since" in command.argv
    ]

    assert with_since == []
