"""Assembles the calls of a Chat Completions stream by rules that tolerate vendors' deviations.

Deltas belong together by `index`; where vendors omit it, reuse it or let it drift, the id and the
state of the arguments decide. An empty string equals an absent field.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from probes.adapters.json_fields import (
    argument_text,
    keep_extra,
    mint_call_id,
    object_or_empty,
    text_or_empty,
)
from probes.adapters.openai_chat.assistant_message import FORMAT, MAX_CALLS, call_leftover
from probes.adapters.openai_chat.reply import MESSAGE
from probes.adapters.tool_calls import (
    LOST,
    NAMELESS,
    as_broken,
    as_cut_off,
    custom_call,
    read_call,
)
from probes.events import PartKind
from probes.messages import JSON, Breakage, BrokenCall, ClientTool, ToolCall
from probes.streams.assembler import Assembler

_BLANK = frozenset(" \t\r\n")


@dataclass(slots=True)
class JsonEndScanner:
    """Detects the end of a JSON object; each piece is scanned once, when first needed."""

    scanned: int = 0
    depth: int = 0
    in_string: bool = False
    escaped: bool = False
    closed: bool = False

    def reached(self, pieces: list[str]) -> bool:
        for piece in pieces[self.scanned :]:
            self._scan(piece)
        self.scanned = len(pieces)
        return self.closed

    def _scan(self, piece: str) -> None:
        for char in piece:
            if self.escaped:
                self.escaped = False
            elif self.in_string:
                self.escaped = char == "\\"
                self.in_string = char != '"'
            else:
                self._outside(char)

    def _outside(self, char: str) -> None:
        if char == '"':
            self.in_string = True
        elif char in "{[":
            self.depth += 1
            self.closed = False
        elif char in "}]":
            self.depth -= 1
            self.closed = self.depth == 0
        elif char not in _BLANK and self.depth == 0:
            self.closed = False


@dataclass(slots=True)
class StreamedCall:
    """One call in progress."""

    position: int
    id: str = ""
    name: str = ""
    legacy: bool = False
    pieces: list[str] = field(default_factory=list)
    extra: dict[str, JSON] = field(default_factory=dict)
    started: bool = False
    is_lost: bool = False
    is_custom: bool = False  # free text: no pieces of JSON
    end: JsonEndScanner = field(default_factory=JsonEndScanner)

    @property
    def key(self) -> tuple[str, int]:
        return ("call", self.position)

    @property
    def path(self) -> str:
        if self.legacy:
            return f"{MESSAGE}.function_call"
        return f"{MESSAGE}.tool_calls[{self.position}].function"

    def is_complete(self) -> bool:
        """Whether the arguments so far are one complete JSON value."""
        return not self.is_custom and self.end.reached(self.pieces)


class CallStream:
    """The calls of one stream, in the order they began."""

    def __init__(self, assembler: Assembler, seed: str = "") -> None:
        self._seed = seed
        self.calls: list[StreamedCall] = []
        self._assembler = assembler
        self._note = assembler.note
        self._by_index: dict[int, StreamedCall] = {}
        self._by_id: dict[str, StreamedCall] = {}
        self._last: StreamedCall | None = None

    def feed(self, entries: list[JSON]) -> None:
        """Read the tool_calls array of one delta."""
        indexes: set[int] = set()
        for position, item in enumerate(entries):
            entry = object_or_empty(item)
            index = _index(entry)
            path = f"{MESSAGE}.tool_calls[{position}]"
            if index is None:
                self._note("index_missing", f"{path}.index")
            elif index in indexes and not entry.get("id"):
                self._note("index_repeated_in_chunk", f"{path}.index")
            indexes.update(() if index is None else (index,))
            call = self._find(entry, index, path)
            if call is not None:
                self._last = call
                self._merge(call, entry, path)

    def feed_legacy(self, value: JSON) -> None:
        """Read the function_call field that preceded tool_calls."""
        call = next((call for call in self.calls if call.legacy), None) or self._new("", None)
        if call is not None:
            call.legacy = True
            self._note("legacy_function_call", call.path)
            self._merge(call, {"function": value}, call.path)

    def start_until(self, last: StreamedCall | None = None) -> None:
        """Start the parts of the calls up to this one, in order; of all by default."""
        for call in self.calls:
            if not call.started:
                call.started = True
                # The name of free text is not known to be one of a function.
                name = "" if call.is_custom else call.name
                self._assembler.start(call.key, PartKind.CALL, id=call.id, name=name)
            if call is last:
                return

    def mark_lost(self) -> None:
        """A piece of the stream was lost; no call that had begun can be trusted."""
        for call in self.calls:
            call.is_lost = True

    def finish(self, cut: Callable[[StreamedCall], str]) -> None:
        """End every call; `cut` returns why a call must not be executed, or ""."""
        self.start_until()
        ids = [call.id for call in self.calls if call.id]
        if len(set(ids)) < len(ids):
            self._note("duplicate_id", f"{MESSAGE}.tool_calls")
        for call in self.calls:
            self._assembler.finish(call.key, self._value(call, cut(call)))

    def _find(self, entry: Mapping[str, JSON], index: int | None, path: str) -> StreamedCall | None:
        id_ = text_or_empty(entry.get("id"))
        name = text_or_empty(_inner(entry).get("name"))
        known = self._by_index.get(index) if index is not None else self._by_id.get(id_)
        if known is None:
            return self._find_unknown(id_, name, index, path)
        if id_ and known.id and id_ != known.id:
            if not name:
                self._note("id_changed", f"{path}.id")
                return self._by_id.get(id_, known)
            self._note("index_reused", f"{path}.index")
            return self._new(id_, index)
        # More text after a complete object would only break it, so a name begins another call.
        if name and _has_arguments(entry) and known.is_complete():
            self._note("index_reused", f"{path}.index")
            return self._new(id_, index)
        return known

    def _find_unknown(
        self, id_: str, name: str, index: int | None, path: str
    ) -> StreamedCall | None:
        if name and index is not None:
            return self._new(id_, index)
        if id_ in self._by_id:
            self._note("index_drift", f"{path}.index")
            return self._by_id[id_]
        if id_ or self._last is None or (name and self._last.is_complete()):
            return self._new(id_, index)
        if index is not None:
            self._note("index_drift", f"{path}.index")
        return self._last

    def _new(self, id_: str, index: int | None) -> StreamedCall | None:
        if len(self.calls) >= MAX_CALLS:
            self._note("too_many_calls", f"{MESSAGE}.tool_calls")
            return None
        call = StreamedCall(len(self.calls), id_)
        self.calls.append(call)
        if index is not None:
            self._by_index[index] = call
        if id_:
            self._by_id[id_] = call
        return call

    def _merge(self, call: StreamedCall, entry: Mapping[str, JSON], path: str) -> None:
        function = _inner(entry)
        begun = bool(call.name or call.pieces)
        call.is_custom = call.is_custom or "custom" in entry
        self._merge_id(call, entry.get("id"), path)
        self._merge_name(call, function.get("name"), path)
        arguments = function.get("input" if call.is_custom else "arguments")
        self._merge_arguments(call, arguments, f"{path}.function.arguments")
        if not begun and call.name and call.pieces and call.is_complete():
            self._note("whole_call_in_one_chunk", path)
        for key, value in call_leftover({**entry, "index": call.position}, call.position).items():
            old = call.extra.get(key)
            both = isinstance(old, Mapping) and isinstance(value, Mapping)
            call.extra[key] = {**object_or_empty(old), **object_or_empty(value)} if both else value

    def _merge_id(self, call: StreamedCall, value: JSON, path: str) -> None:
        if value == "":
            self._note("empty_id", f"{path}.id")
        elif not call.id and isinstance(value, str):
            call.id = value
            self._by_id[value] = call

    def _merge_name(self, call: StreamedCall, value: JSON, path: str) -> None:
        name = text_or_empty(value)
        at = f"{path}.function.name"
        if value == "":
            self._note("empty_name", at)
        elif name and not call.name:
            call.name = name
        elif name and name != call.name and not call.pieces:
            call.name += name
            self._note("name_in_pieces", at)
        elif name and name != call.name:
            self._note("name_changed", at)

    def _merge_arguments(self, call: StreamedCall, value: JSON, path: str) -> None:
        if value is None:
            return
        if not isinstance(value, str):
            self._note("arguments_object", path)
            # Some vendors repeat the object in every delta; keep it once.
            value = "" if call.pieces else argument_text(value)
        if not value:
            return
        self.start_until(call)
        if call.is_custom:
            call.pieces.append(value)
            return
        self._assembler.extend(call.key, value)
        if self._assembler.is_cut(call.key):
            call.is_lost = True
        else:
            call.pieces.append(value)

    def _value(self, call: StreamedCall, cut: str) -> ToolCall | BrokenCall:
        raw = "".join(call.pieces)
        if not call.id and not call.legacy:
            self._note("missing_id", f"{MESSAGE}.tool_calls[{call.position}].id")
        id_ = call.id or mint_call_id(self._seed, call.path, call.name, raw)
        at = f"{call.path}.arguments"
        value = ToolCall(id_, call.name, {}, FORMAT, raw, extra=keep_extra(FORMAT, call.extra))
        if not call.name:
            return as_broken(value, NAMELESS, Breakage.UNKNOWN_TOOL, f"{call.path}.name")
        if call.is_lost or cut:
            return as_cut_off(value, at, LOST if call.is_lost else cut)
        if call.is_custom:
            declared = ClientTool(FORMAT, call.name, custom=True)
            return custom_call(raw, id=id_, name=call.name, client_tool=declared, extra=value.extra)
        resolved, repeated = read_call(value, at)
        for key in repeated:
            self._note("duplicate_key", f"{at}.{key}")
        return resolved


def _inner(entry: Mapping[str, JSON]) -> Mapping[str, JSON]:
    return object_or_empty(entry.get("custom" if "custom" in entry else "function"))


def _index(entry: Mapping[str, JSON]) -> int | None:
    index = entry.get("index")
    return index if isinstance(index, int) and not isinstance(index, bool) else None


def _has_arguments(entry: Mapping[str, JSON]) -> bool:
    value = object_or_empty(entry.get("function")).get("arguments")
    return bool(value.strip()) if isinstance(value, str) else value is not None
