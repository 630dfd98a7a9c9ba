"""The parts that Chat Completions and Responses streams share: framing, lost events and the end."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from typing import ClassVar

from probes.adapters.json_fields import text_or_empty
from probes.errors import WireError
from probes.events import Event
from probes.messages import JSON, Reply
from probes.streams.assembler import Assembler
from probes.streams.sse import MAX_EVENT, ServerEvent, SSEDecoder
from probes.strict_json import parse_json


class OpenAIStreamReader(ABC):
    """Bytes of one stream to events; subclasses interpret the JSON bodies."""

    # The deviation of a stream without any event of the format.
    NOTHING_SENT: ClassVar[str]
    NOTES_KEEPALIVES: ClassVar[bool] = False

    def __init__(self, seed: str = "") -> None:
        self._seed = seed
        self._sse = SSEDecoder()
        self._assembler = Assembler()
        self._head: dict[str, JSON] = {}
        self._done = False  # [DONE] was sent
        self._failed = False

    @property
    def id(self) -> str:
        """The id of the answer, once the stream has sent it."""
        return text_or_empty(self._head.get("id"))

    def feed(self, data: bytes) -> list[Event]:
        for event in self._sse.feed(data):
            self._read_event(event)
        return self._assembler.take_events()

    def close(self) -> list[Event]:
        if self._assembler.ended:
            return []
        for event in self._sse.close():
            self._read_event(event)
        if self._sse.comments and self.NOTES_KEEPALIVES:
            self._assembler.note("keepalive_comment", "$")
        if self._is_empty():
            self._read_unstreamed()
        if not self._assembler.ended:
            self._end()
        return self._assembler.take_events()

    @abstractmethod
    def _read_body(self, body: Mapping[str, JSON], name: str) -> None:
        """Read the JSON of one event; `name` is the event's name or ""."""

    @abstractmethod
    def _mark_lost(self) -> None:
        """Mark the open parts: an event was lost, so pieces may be missing."""

    @abstractmethod
    def _is_empty(self) -> bool:
        """Whether no event of the format was sent."""

    @abstractmethod
    def _read_unstreamed_body(self, body: Mapping[str, JSON]) -> Reply | None:
        """The reply in one body, or None if it is an error. Raises WireError."""

    @abstractmethod
    def _end(self) -> None:
        """End the reply with the received parts."""

    def _read_event(self, event: ServerEvent) -> None:
        data = event.data.strip()
        if event.too_large:
            self._drop_event("event_too_large")
        elif data == "[DONE]":
            self._done = True
        elif data:
            parsed = parse_json(data, max_bytes=MAX_EVENT * 4)
            if isinstance(parsed.value, Mapping):
                self._read_body(parsed.value, event.event)
            else:
                self._drop_event("event_cut_off" if event.unfinished else "event_not_json")

    def _drop_event(self, name: str) -> None:
        self._assembler.note(name, "$")
        self._mark_lost()

    def _read_unstreamed(self) -> None:
        """Read an answer that came as one JSON body instead of a stream."""
        parsed = parse_json(self._sse.stray, max_bytes=MAX_EVENT * 4)
        if not isinstance(parsed.value, Mapping):
            self._assembler.note(self.NOTHING_SENT, "$")
            return
        self._assembler.note("not_streamed", "$")
        try:
            reply = self._read_unstreamed_body(parsed.value)
        except WireError as exc:
            self._assembler.note("unreadable_body", exc.at)
            return
        if reply is None:
            return
        self._assembler.begin(reply.id, reply.model or "", reply.usage)
        for index, part in enumerate(reply.parts):
            self._assembler.add(index, part)
        notes = (*self._assembler.deviations, *reply.deviations)
        self._assembler.end(replace(reply, deviations=notes))
