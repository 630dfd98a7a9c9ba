from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from probes.streams.ndjson import NDJSONDecoder, Record

STREAM = '\ufeff{"a":"é😀"}\r\n\n  \r\n{"b":1}\n{"c":\r2}'.encode()
RECORDS = [
    Record('{"a":"é😀"}'),
    Record('{"b":1}'),
    Record('{"c":\r2}', unfinished=True),
]


def decode(data: bytes, size: int, **limits: int) -> list[Record]:
    decoder = NDJSONDecoder(**limits)
    records = []
    for start in range(0, len(data), size):
        records += decoder.feed(data[start : start + size])
    return records + decoder.close()


@pytest.mark.parametrize("size", range(1, len(STREAM) + 1))
def test_records_are_the_same_however_the_bytes_are_cut(size: int) -> None:
    """Blank lines are no records, and the last needs no ending."""
    assert decode(STREAM, size) == RECORDS


def test_a_record_beyond_the_limit_is_marked_and_not_kept() -> None:
    """Memory stays bounded, and the records after it are read."""
    assert decode(b"x" * 300 + b"\n{}\n", 11, max_line=100) == [
        Record("", too_large=True),
        Record("{}"),
    ]


@given(st.binary(max_size=200), st.integers(1, 50))
def test_any_bytes_give_the_same_records_whole_and_in_pieces(data: bytes, size: int) -> None:
    """No input makes the decoder fail, and no cut changes its records."""
    assert decode(data, size) == decode(data, len(data) or 1)
