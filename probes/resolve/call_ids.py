"""Call ids: minted if a format sends none, mapped if a target accepts only its own form.

An id may occur twice, in one reply or in a later turn. Calls and results are therefore paired by
position (`IdWalk`): the n-th call with an id belongs to the n-th result with it, and every call is
sent with a unique id.
"""

from __future__ import annotations

import hashlib
import re
import string
from collections import Counter, deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import count
from typing import Self

from probes.errors import WireError
from probes.messages import JSON

ALPHABET = string.digits + string.ascii_letters
MINTED = 24
MAX_WIRE_ID = 256


@dataclass(frozen=True, slots=True)
class IdRule:
    """The ids that a target accepts: those that match `pattern` completely.

    Other ids are replaced: by `length` alphanumerics, or by `form` with the tool's name and a
    running number, or by the same id with `_` for every character that is not allowed, or by a
    minted one if that is too long.
    """

    name: str
    pattern: str
    length: int = 0
    form: str = ""

    def accepts(self, id: str) -> bool:
        return len(id) <= MAX_WIRE_ID and re.fullmatch(self.pattern, id) is not None


RULES: Mapping[str, IdRule] = {
    rule.name: rule
    for rule in (
        IdRule("any", r"[^\x00-\x1f]+"),
        # Longer ids are refused as string_above_max_length.
        IdRule("openai", r"[^\x00-\x1f]{1,40}"),
        IdRule("openai_responses", r"[^\x00-\x1f]{1,64}"),
        IdRule("anthropic", r"[a-zA-Z0-9_-]+"),
        IdRule("mistral", r"[a-zA-Z0-9]{9}", length=9),
        # K2 numbers its calls across the conversation and miscounts after ids of another form.
        IdRule("kimi", r"functions\.[a-zA-Z0-9_.-]+:[0-9]+", form="functions.{name}:{index}"),
    )
}


def mint_call_id(*seed: str | int) -> str:
    """A deterministic id from a seed: the format, name, text and position of a call."""
    return f"call_{_digest(seed, MINTED)}"


@dataclass(slots=True)
class IdMap:
    """Maps our ids to a target's and back. Store it with the conversation: sent ids are final."""

    rule: IdRule
    _wire: dict[tuple[str, int], str] = field(default_factory=dict)
    _ours: dict[str, str] = field(default_factory=dict)

    def walk(self) -> IdWalk:
        """Start a pass at the first turn of the history to send."""
        return IdWalk(self)

    def ours(self, wire: str) -> str:
        """Our id for `wire`; an id that was never sent maps to itself."""
        return self._ours.get(wire, wire)

    def wire(self, id: str, occurrence: int, name: str) -> str:
        """The target's id for the n-th call with `id`, counted from 0."""
        key = (id, occurrence)
        if key not in self._wire:
            wire = self._unused_wire_id(id, occurrence, name)
            self._wire[key] = wire
            self._ours[wire] = id
        return self._wire[key]

    def as_json(self) -> dict[str, JSON]:
        rows: list[JSON] = [[id, number, wire] for (id, number), wire in self._wire.items()]
        return {"rule": self.rule.name, "ids": rows}

    @classmethod
    def from_json(cls, value: JSON) -> Self:
        match value:
            case {"rule": str(rule), "ids": list(rows)} if rule in RULES:
                id_map = cls(RULES[rule])
            case _:
                raise WireError("This is not a stored id map.", "$")
        for index, row in enumerate(rows):
            match row:
                case [str(id), int(number), str(wire)]:
                    id_map._wire[id, number] = wire
                    id_map._ours[wire] = id
                case _:
                    raise WireError("This is not a row of an id map.", f"$.ids[{index}]")
        return id_map

    def _unused_wire_id(self, id: str, occurrence: int, name: str) -> str:
        if occurrence == 0 and self.rule.accepts(id) and id not in self._ours:
            return id
        candidates = (self._candidate(id, number, name) for number in count(occurrence))
        return next(wire for wire in candidates if wire not in self._ours)

    def _candidate(self, id: str, number: int, name: str) -> str:
        suffix = f"_dup{number}" if number else ""
        if self.rule.form:
            index = len(self._wire) + number
            return self.rule.form.format(name=_clean(name) or "f", index=index)
        if self.rule.length:
            return _digest((id + suffix,), self.rule.length)
        if self.rule.accepts(id + suffix):
            return id + suffix
        clean = _clean(id)[: MAX_WIRE_ID // 2] + suffix
        return clean if _clean(id) and self.rule.accepts(clean) else mint_call_id(id + suffix)


@dataclass(slots=True)
class IdWalk:
    """One pass over a history: calls arm their ids, results consume them, in order."""

    map: IdMap
    _seen: Counter[str] = field(default_factory=Counter)
    _armed: dict[str, deque[str]] = field(default_factory=dict)

    def call(self, id: str, name: str) -> str:
        """The target's id of the next call in the history."""
        wire = self.map.wire(id, self._seen[id], name)
        self._seen[id] += 1
        self._armed.setdefault(id, deque()).append(wire)
        return wire

    def result(self, id: str) -> str | None:
        """The target's id of the call that this result answers; None if no call is open."""
        waiting = self._armed.get(id)
        return waiting.popleft() if waiting else None


def _clean(text: str) -> str:
    return re.sub(r"[^a-zA-Z0-9_-]", "_", text)


def _digest(seed: tuple[str | int, ...], length: int) -> str:
    data = "\0".join(str(item) for item in seed).encode("utf-8", "surrogatepass")
    number = int.from_bytes(hashlib.sha256(data).digest())
    digits = []
    for _ in range(length):
        number, digit = divmod(number, len(ALPHABET))
        digits.append(ALPHABET[digit])
    return "".join(digits)
