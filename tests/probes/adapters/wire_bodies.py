"""Pieces of generated bodies that all wire formats share."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from probes.adapters.base import Adapter
from probes.events import Event, PartEnded, ReplyEnded, ReplyStarted
from probes.messages import Reply

texts = st.text(st.characters(codec="utf-8"), max_size=20)
short_texts = st.text(st.characters(codec="utf-8"), min_size=1, max_size=20)
names = st.from_regex(r"[a-z][a-z_]{0,8}", fullmatch=True)
ids = st.from_regex(r"[a-z]{3}_[A-Za-z0-9]{1,8}", fullmatch=True)
values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**40), 2**40) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)
objects = st.dictionaries(texts, values, max_size=4)
schemas = st.fixed_dictionaries(
    {"type": st.just("object"), "properties": st.dictionaries(names, objects, max_size=2)}
)
counts = st.integers(0, 10**6)
# Fields that no format has: they must be written back at the same place.
unknown = st.dictionaries(
    st.from_regex(r"x_[a-z]{1,5}", fullmatch=True),
    values.filter(lambda value: value is not None),
    max_size=2,
)


def fields(required: dict[str, Any], optional: dict[str, Any] | None = None) -> Any:
    """An object with some known fields and sometimes unknown ones."""
    known = st.fixed_dictionaries(required, optional=optional or {})
    return st.builds(lambda body, more: {**more, **body}, known, unknown)


def read_events(adapter: Adapter, data: bytes, size: int | None = None) -> list[Event]:
    """All events of a stream that arrives in pieces of this size."""
    reader = adapter.read_stream()
    step = size or max(len(data), 1)
    events: list[Event] = []
    for start in range(0, len(data), step):
        events += reader.feed(data[start : start + step])
    return events + reader.close()


def final_reply(events: list[Event]) -> Reply:
    """The reply at the end of some events; each of its parts was ended with that value."""
    last = events[-1]
    assert isinstance(events[0], ReplyStarted)
    assert isinstance(last, ReplyEnded)
    assert sum(isinstance(event, ReplyEnded) for event in events) == 1
    ended = {event.index: event.part for event in events if isinstance(event, PartEnded)}
    assert tuple(ended[index] for index in sorted(ended)) == last.reply.parts
    return last.reply


def read_stream(adapter: Adapter, data: bytes, size: int | None = None) -> Reply:
    return final_reply(read_events(adapter, data, size))


def deviation_names(reply: Reply) -> list[str]:
    return [deviation.name for deviation in reply.deviations]
