from __future__ import annotations

from itertools import combinations
from pathlib import Path

import pytest

from tests.dashboard.core.colour import VISIONS, Colour, contrast, distance, read_colour_tokens

STATIC = Path(__file__).resolve().parents[3] / "static"
GROUNDS = ("surface", "bg", "surface-2", "hover", "raised")
SOFT = ("good-soft", "warn-soft", "bad-soft", "idle-soft")
STATES = ("good", "warn", "bad")


@pytest.fixture(params=["light", "dark"])
def token(request: pytest.FixtureRequest) -> dict[str, Colour]:
    return read_colour_tokens(STATIC / "css" / "tokens.css", request.param)


@pytest.fixture(params=["light", "dark"])
def lines(request: pytest.FixtureRequest) -> dict[str, Colour]:
    return read_colour_tokens(STATIC / "compare" / "compare.css", request.param)


def test_words_can_be_read_on_every_ground(token: dict[str, Colour]) -> None:
    """WCAG 2.2 AA for text: 4.5 to 1, also on hover and on the colour of its state."""
    for name in ("text", "muted", "accent", *STATES):
        for ground in (*GROUNDS, *SOFT):
            assert contrast(token[name], token[ground]) >= 4.5, (name, ground)
    for ground in ("accent-solid", "accent-solid-hover", "danger-solid", "danger-solid-hover"):
        assert contrast(token["on-accent"], token[ground]) >= 4.5, ground


def test_lines_and_edges_can_be_seen(token: dict[str, Colour]) -> None:
    """WCAG 2.2 AA for non-text: 3 to 1 for fields, bars, series and the focus ring."""
    for name in ("field-line", "focus", "chart-series", *(f"{state}-fill" for state in STATES)):
        assert contrast(token[name], token["surface"]) >= 3, name


@pytest.mark.parametrize("vision", VISIONS)
def test_states_stay_apart_for_every_kind_of_colour_vision(
    token: dict[str, Colour], vision: str
) -> None:
    """Good, warn and bad are at least five just noticeable differences apart, texts and bars."""
    for kind in ("", "-fill"):
        for first, second in combinations(STATES, 2):
            difference = distance(token[first + kind], token[second + kind], vision)
            assert difference >= 0.1, (kind, first, second, round(difference, 3))


@pytest.mark.parametrize("vision", VISIONS)
def test_compared_lines_stay_apart_for_every_kind_of_colour_vision(
    lines: dict[str, Colour], vision: str
) -> None:
    """Six endpoints on one chart differ by colour alone, before dash and marker."""
    assert len(lines) == 6
    for first, second in combinations(sorted(lines), 2):
        assert distance(lines[first], lines[second], vision) >= 0.1, (first, second)


def test_the_simulation_confuses_what_such_eyes_confuse() -> None:
    """Red and green of one lightness are far apart, but not with deuteranopia."""
    red, green = (0.55, 0.1, 0.03), (0.12, 0.3, 0.03)

    assert distance(red, green, "normal") > 0.2
    assert distance(red, green, "deuteranopia") < distance(red, green, "normal") / 3
