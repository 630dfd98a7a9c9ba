from __future__ import annotations

from itertools import combinations
from pathlib import Path

import pytest

from tests.dashboard.core.colour import VISIONS, Colour, contrast, distance, tokens

CSS = Path(__file__).resolve().parents[3] / "static" / "css"
GROUNDS = ("surface", "bg", "surface-2", "hover", "raised")
SOFT = ("good-soft", "warn-soft", "bad-soft", "idle-soft")
STATES = ("good", "warn", "bad")


@pytest.fixture(params=["light", "dark"])
def token(request: pytest.FixtureRequest) -> dict[str, Colour]:
    return tokens(CSS / "tokens.css", request.param)


@pytest.fixture(params=["light", "dark"])
def lines(request: pytest.FixtureRequest) -> dict[str, Colour]:
    return tokens(CSS / "compare.css", request.param)


def test_words_can_be_read_on_every_ground(token: dict[str, Colour]) -> None:
    """WCAG 2.2 AA for words: 4.5 to 1, also where one is pointed at or stands on its state."""
    for name in ("text", "muted", "accent", *STATES):
        for ground in (*GROUNDS, *SOFT):
            assert contrast(token[name], token[ground]) >= 4.5, (name, ground)
    for ground in ("accent-solid", "accent-solid-hover", "danger-solid", "danger-solid-hover"):
        assert contrast(token["on-accent"], token[ground]) >= 4.5, ground


def test_lines_and_edges_can_be_seen(token: dict[str, Colour]) -> None:
    """WCAG 2.2 AA for what is not words: 3 to 1 for fields, bars, series and the ring of focus."""
    for name in ("field-line", "focus", "chart-series", *(f"{state}-fill" for state in STATES)):
        assert contrast(token[name], token["surface"]) >= 3, name


@pytest.mark.parametrize("vision", VISIONS)
def test_states_stay_apart_for_every_kind_of_colour_vision(
    token: dict[str, Colour], vision: str
) -> None:
    """Good, warn and bad are at least five just noticeable differences apart, words and bars."""
    for kind in ("", "-fill"):
        for one, other in combinations(STATES, 2):
            found = distance(token[one + kind], token[other + kind], vision)
            assert found >= 0.1, (kind, one, other, round(found, 3))


@pytest.mark.parametrize("vision", VISIONS)
def test_compared_lines_stay_apart_for_every_kind_of_colour_vision(
    lines: dict[str, Colour], vision: str
) -> None:
    """Six endpoints on one chart can be told apart by colour, before dash and marker help."""
    assert len(lines) == 6
    for one, other in combinations(sorted(lines), 2):
        assert distance(lines[one], lines[other], vision) >= 0.1, (one, other)


def test_the_simulation_confuses_what_such_eyes_confuse() -> None:
    """Red and green of one lightness are far apart, but not for who sees no green."""
    red, green = (0.55, 0.1, 0.03), (0.12, 0.3, 0.03)

    assert distance(red, green, "normal") > 0.2
    assert distance(red, green, "deuteranopia") < distance(red, green, "normal") / 3
