"""Server-sent events from bytes, per the WHATWG specification and with deviations of relays."""

from __future__ import annotations

from dataclasses import dataclass

from probes.streams.line_decoder import MAX_LINE, DecodedLine, LineDecoder

MAX_EVENT = 8 * 1024 * 1024
_BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class ServerEvent:
    """One event. `event` is "" if the stream gave none; `id` is the last one that was sent.

    `too_large`: the data exceeded the limit and was dropped. `unfinished`: the stream ended before
    the blank line that completes an event.
    """

    event: str
    data: str
    id: str = ""
    too_large: bool = False
    unfinished: bool = False


class SSEDecoder:
    """Decodes arbitrarily cut bytes into events. Never raises; buffers at most one event.

    `comments` counts keepalives. `stray` is text that is no field of the format: an endpoint that
    answers a streaming request with plain JSON ends up there.
    """

    def __init__(self, max_line: int = MAX_LINE, max_event: int = MAX_EVENT) -> None:
        self.comments = 0
        self._lines = LineDecoder(max_line=max_line)
        self._max_event = max_event
        self._first = True
        self._data: list[str] = []
        self._stray: list[str] = []
        self._stray_size = 0
        self._id = ""
        self._reset()

    @property
    def stray(self) -> str:
        return "\n".join(self._stray)

    def feed(self, data: bytes) -> list[ServerEvent]:
        """The events that these bytes complete."""
        events = [self._read_line(line) for line in self._lines.feed(data)]
        return [event for event in events if event is not None]

    def close(self) -> list[ServerEvent]:
        """The event that was still open, marked as unfinished."""
        rest = self._lines.close()
        if rest is not None:
            self._read_line(rest)
        event = self._dispatch(unfinished=True)
        return [] if event is None else [event]

    def _read_line(self, line: DecodedLine) -> ServerEvent | None:
        data = line.data
        if self._first:
            self._first = False
            data = data.removeprefix(_BOM)
        if not data:
            return self._dispatch()
        if data.startswith(b":"):
            self.comments += 1
        elif line.too_large:
            self._overflow()
        else:
            self._field(data.decode("utf-8", "replace"))
        return None

    def _field(self, text: str) -> None:
        name, _, value = text.partition(":")
        value = value.removeprefix(" ")
        match name:
            case "data":
                self._append(value)
            case "event":
                self._event = value
            case "id":
                self._id = value if "\0" not in value else self._id
            case "retry":
                pass
            case _:
                self._keep_stray(text)

    def _append(self, value: str) -> None:
        self._has_data = True
        self._size += len(value) + 1
        if self._size > self._max_event:
            self._overflow()
        elif not self._too_large:
            self._data.append(value)

    def _overflow(self) -> None:
        self._has_data = self._too_large = True
        self._data = []

    def _keep_stray(self, text: str) -> None:
        self._stray_size += len(text) + 1
        if self._stray_size <= self._max_event:
            self._stray.append(text)

    def _dispatch(self, *, unfinished: bool = False) -> ServerEvent | None:
        event = ServerEvent(
            self._event, "\n".join(self._data), self._id, self._too_large, unfinished
        )
        has_data = self._has_data
        self._reset()
        return event if has_data else None

    def _reset(self) -> None:
        self._event = ""
        self._data = []
        self._size = 0
        self._has_data = self._too_large = False
