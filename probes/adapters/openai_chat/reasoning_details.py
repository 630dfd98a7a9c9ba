from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from probes.adapters.json_fields import object_or_empty
from probes.messages import JSON

GROWING = frozenset({"text", "summary", "data", "signature"})
MAX_ENTRIES = 1024


@dataclass
class DetailsStream:
    """A reasoning_details array that arrives in deltas.

    Vendors stream increments or cumulative snapshots, and nothing says which: a text that begins
    with all that came before replaces it, any other is appended.
    """

    entries: dict[JSON, _Entry] = field(default_factory=dict)

    def feed(self, items: list[JSON]) -> str:
        """Take the array of one delta; the text that is new in it."""
        return "".join(self._feed(item, place) for place, item in enumerate(items))

    @property
    def raw(self) -> list[JSON]:
        """The array as one answer would have carried it."""
        return [entry.value for entry in self.entries.values()]

    def _feed(self, item: JSON, place: int) -> str:
        fields = object_or_empty(item)
        index = fields.get("index")
        key = f"{index if isinstance(index, int) else place}/{fields.get('type')}"
        if key not in self.entries and len(self.entries) >= MAX_ENTRIES:
            return ""
        return self.entries.setdefault(key, _Entry()).merge(fields)


@dataclass
class _Entry:
    fields: dict[str, JSON] = field(default_factory=dict)
    texts: dict[str, _Growing] = field(default_factory=dict)

    @property
    def value(self) -> dict[str, JSON]:
        return self.fields | {name: text.value for name, text in self.texts.items()}

    def merge(self, fields: Mapping[str, JSON]) -> str:
        new = ""
        for name, value in fields.items():
            if name in GROWING and isinstance(value, str):
                self.fields.setdefault(name, value)  # keeps the place of the field
                added = self.texts.setdefault(name, _Growing()).merge(value)
                new += added if name in {"text", "summary"} else ""
            elif value is not None or name not in self.fields:
                self.fields[name] = value
        return new


@dataclass
class _Growing:
    pieces: list[str] = field(default_factory=list)
    size: int = 0

    @property
    def value(self) -> str:
        return "".join(self.pieces)

    def merge(self, text: str) -> str:
        """Add a text, or let it replace what it repeats; the part that is new."""
        # A shorter text cannot repeat the whole, so joining costs no more than what arrived.
        if self.size and len(text) >= self.size and text.startswith(self.value):
            new = text[self.size :]
            self.pieces, self.size = [text], len(text)
            return new
        self.pieces.append(text)
        self.size += len(text)
        return text
