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

    Vendors stream increments or cumulative snapshots without saying which: a text that begins with
    all earlier text replaces it, any other text is appended.
    """

    entries: dict[JSON, _Entry] = field(default_factory=dict)

    def feed(self, items: list[JSON]) -> str:
        """Read the array of one delta and return its new text."""
        return "".join(self._feed(item, position) for position, item in enumerate(items))

    @property
    def raw(self) -> list[JSON]:
        """The array as an unstreamed answer would have carried it."""
        return [entry.value for entry in self.entries.values()]

    def _feed(self, item: JSON, position: int) -> str:
        fields = object_or_empty(item)
        index = fields.get("index")
        key = f"{index if isinstance(index, int) else position}/{fields.get('type')}"
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
                self.fields.setdefault(name, value)  # keeps the position of the field
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
        """Append a text, or replace what it repeats; returns the new part."""
        # A shorter text cannot repeat the whole, so joining costs no more than the new text.
        if self.size and len(text) >= self.size and text.startswith(self.value):
            new = text[self.size :]
            self.pieces, self.size = [text], len(text)
            return new
        self.pieces.append(text)
        self.size += len(text)
        return text
