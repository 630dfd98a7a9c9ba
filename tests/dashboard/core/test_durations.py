from __future__ import annotations

from datetime import timedelta

import pytest

from dashboard.core import durations


@pytest.mark.parametrize("text", ["5m", "90s", "6h", "1d", "30d"])
def test_a_span_is_written_as_it_was_read(text: str) -> None:
    """A formatted duration can be parsed again."""
    assert durations.format_duration(durations.parse_duration(text)) == text


@pytest.mark.parametrize("text", ["", "6", "h", "-1h", "1.5h", "1h30m", "9999999s", "٣h"])
def test_other_texts_are_no_spans(text: str) -> None:
    """Only a whole number with one unit is a span."""
    with pytest.raises(ValueError, match="not a duration"):
        durations.parse_duration(text)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.4, "under 1 s"), (59, "59 s"), (61, "1 min"), (7200, "2 h"), (172800, "2 d")],
)
def test_rough_spans_have_one_unit(seconds: float, text: str) -> None:
    """A rough duration is rounded down to its unit."""
    assert durations.format_rough_duration(timedelta(seconds=seconds)) == text
