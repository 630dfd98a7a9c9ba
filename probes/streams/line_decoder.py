"""Splits bytes into lines, for both stream framings."""

from __future__ import annotations

import re
from dataclasses import dataclass

MAX_LINE = 1024 * 1024
ANY_ENDING = re.compile(rb"\r\n|\r|\n")
LF_ENDING = re.compile(rb"\r?\n")


@dataclass(frozen=True, slots=True)
class DecodedLine:
    """One line without its ending. `too_large`: only the beginning is kept."""

    data: bytes
    too_large: bool = False


class LineDecoder:
    """Splits arbitrarily cut bytes into lines; buffers at most one line of `max_line` bytes."""

    def __init__(self, ending: re.Pattern[bytes] = ANY_ENDING, max_line: int = MAX_LINE) -> None:
        self._ending = ending
        self._lone_cr_ends = ending is ANY_ENDING
        self._max_line = max_line
        self._pieces: list[bytes] = []
        self._size = 0
        self._too_large = False
        self._after_cr = False

    def feed(self, data: bytes) -> list[DecodedLine]:
        """The lines that these bytes complete."""
        if not data:
            return []
        data = self._join_endings(data)
        *complete, rest = self._ending.split(data)
        lines = []
        for piece in complete:
            self._keep(piece)
            lines.append(self._line())
        self._keep(rest)
        return lines

    def close(self) -> DecodedLine | None:
        """The last line, if it had no ending."""
        if self._after_cr and not self._lone_cr_ends:
            self._keep(b"\r")
        self._after_cr = False
        return self._line() if self._size else None

    def _join_endings(self, data: bytes) -> bytes:
        """Treat CR and LF as one ending even if they arrive in two reads."""
        after_cr, self._after_cr = self._after_cr, data.endswith(b"\r")
        if self._lone_cr_ends:
            return data[1:] if after_cr and data.startswith(b"\n") else data
        # A lone CR is no ending here, so it waits for the next byte.
        text = b"\r" + data if after_cr else data
        return text[:-1] if self._after_cr else text

    def _keep(self, piece: bytes) -> None:
        self._size += len(piece)
        room = self._max_line - self._size + len(piece)
        if room < len(piece):
            self._too_large = True
            piece = piece[: max(room, 0)]
        if piece:
            self._pieces.append(piece)

    def _line(self) -> DecodedLine:
        line = DecodedLine(b"".join(self._pieces), self._too_large)
        self._pieces, self._size, self._too_large = [], 0, False
        return line
