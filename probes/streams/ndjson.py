"""Newline-delimited JSON from arbitrarily cut bytes."""

from __future__ import annotations

from dataclasses import dataclass

from probes.streams.line_decoder import LF_ENDING, DecodedLine, LineDecoder

MAX_RECORD = 8 * 1024 * 1024
_BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class Record:
    """The text of one line, not yet parsed.

    `too_large`: it exceeded the limit and was dropped. `unfinished`: the stream ended before the
    line did, though its text may be complete.
    """

    text: str
    too_large: bool = False
    unfinished: bool = False


class NDJSONDecoder:
    """Decodes arbitrarily cut bytes into records. Never raises; buffers at most one line."""

    def __init__(self, max_line: int = MAX_RECORD) -> None:
        self._lines = LineDecoder(LF_ENDING, max_line)
        self._first = True
        # Some clients parse every line, and fail at a blank one.
        self.has_blank_lines = False

    def feed(self, data: bytes) -> list[Record]:
        """The records that these bytes complete; blank lines are skipped."""
        records = [self._record(line) for line in self._lines.feed(data)]
        return [record for record in records if record is not None]

    def close(self) -> list[Record]:
        """The last record, if its line had no ending."""
        rest = self._lines.close()
        record = self._record(rest, unfinished=True) if rest is not None else None
        return [] if record is None else [record]

    def _record(self, line: DecodedLine, *, unfinished: bool = False) -> Record | None:
        data = line.data
        if self._first:
            self._first = False
            data = data.removeprefix(_BOM)
        if line.too_large:
            return Record("", too_large=True, unfinished=unfinished)
        text = data.decode("utf-8", "replace")
        if not text.strip():
            self.has_blank_lines = True
            return None
        return Record(text, unfinished=unfinished)
