"""Reads a streamed answer of the Responses API.

Deltas are for progress only. The finished item (`output_item.done`) counts, else the item in the
last event, and only if both are missing the sum of the deltas.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field

from typing_extensions import override

from probes.adapters.json_fields import list_or_empty, object_or_empty, text_or_empty
from probes.adapters.openai_chat.errors import read_error
from probes.adapters.openai_responses.items import flat_name, item_parts
from probes.adapters.openai_responses.reply import build_reply, read_reply, read_stop
from probes.adapters.openai_stream import OpenAIStreamReader
from probes.adapters.tool_calls import BROKEN_OFF, CUT, LOST, as_cut_off, repeats_id
from probes.errors import WireError
from probes.events import PartKind
from probes.messages import (
    JSON,
    BrokenCall,
    Part,
    Reply,
    Stop,
    Text,
    ToolCall,
)

MAX_ITEMS = 1024
HEADS = frozenset({"response.created", "response.in_progress", "response.queued"})
ENDS = frozenset(
    {"response.completed", "response.incomplete", "response.failed", "response.cancelled"}
)
# Events whose content is also in the finished item.
REPEATED = frozenset(
    {
        "response.content_part.added",
        "response.content_part.done",
        "response.output_text.done",
        "response.output_text.annotation.added",
        "response.refusal.done",
        "response.reasoning_text.done",
        "response.reasoning_summary_text.done",
        "response.reasoning_summary_part.added",
        "response.reasoning_summary_part.done",
        "response.custom_tool_call_input.delta",
        "response.custom_tool_call_input.done",
        "keepalive",
    }
)
FIRST_LABELS = {"message": "output_text", "reasoning": "summary_text"}
CALLS = frozenset({"function_call", "custom_tool_call"})
DELTAS = {
    "response.output_text.delta": ("message", "output_text"),
    "response.refusal.delta": ("message", "refusal"),
    "response.reasoning_text.delta": ("reasoning", "reasoning_text"),
    "response.reasoning_summary_text.delta": ("reasoning", "summary_text"),
    "response.function_call_arguments.delta": ("function_call", "arguments"),
}


@dataclass(slots=True)
class _Item:
    """One output item in progress."""

    position: int
    kind: str = ""
    fields: dict[str, JSON] = field(default_factory=dict)
    keys: list[Hashable] = field(default_factory=list)
    labels: dict[Hashable, str] = field(default_factory=dict)
    arguments: str | None = None
    final: Mapping[str, JSON] | None = None
    is_lost: bool = False
    settled: bool = False


class ResponsesStreamReader(OpenAIStreamReader):
    """Named events to our events."""

    NOTHING_SENT = "no_events"

    def __init__(self, seed: str = "") -> None:
        super().__init__(seed)
        self._items: dict[int, _Item] = {}
        self._ids: dict[str, int] = {}
        self._root: Mapping[str, JSON] | None = None
        self._sequence: int | None = None
        self._seen = 0

    # One event of the stream.

    @override
    def _mark_lost(self) -> None:
        for item in self._items.values():
            item.is_lost = True

    @override
    def _is_empty(self) -> bool:
        return not self._seen

    @override
    def _read_body(self, body: Mapping[str, JSON], name: str) -> None:
        self._seen += 1
        kind = text_or_empty(body.get("type")) or name
        self._check_sequence(body.get("sequence_number"))
        if kind in HEADS:
            self._head |= object_or_empty(body.get("response"))
            self._assembler.begin(self.id, text_or_empty(self._head.get("model")))
        elif kind in ENDS:
            self._root = {**self._head, **object_or_empty(body.get("response"))}
            self._failed = kind in ("response.failed", "response.cancelled")
        elif kind == "error" or (not kind and read_error(body) is not None):
            self._failed = True
            self._assembler.note("error_in_stream", "$")
            error = object_or_empty(body.get("error")) or body
            self._head["error"] = {key: error.get(key) for key in ("code", "message")}
        elif kind in DELTAS:
            self._read_delta(body, *DELTAS[kind])
        elif kind not in REPEATED:
            self._read_item_event(body, kind)

    def _read_item_event(self, body: Mapping[str, JSON], kind: str) -> None:
        match kind:
            case "response.output_item.added":
                self._add_item(body)
            case "response.output_item.done":
                self._finish_item(body)
            case "response.function_call_arguments.done":
                item = self._item(body, "function_call")
                if item is not None:
                    item.arguments = text_or_empty(body.get("arguments"))
            case _:
                self._assembler.note("unknown_event", kind[:100] or "$")

    def _check_sequence(self, number: JSON) -> None:
        if not isinstance(number, int):
            return
        if self._sequence is not None and number != self._sequence + 1:
            self._assembler.note("sequence_number", "$.sequence_number")
        self._sequence = number

    # Items.

    def _item(self, body: Mapping[str, JSON], kind: str) -> _Item | None:
        position = self._output_index(body)
        if position not in self._items:
            if len(self._items) >= MAX_ITEMS:
                self._assembler.note("too_many_items", "$.output")
                return None
            self._settle_before()
            self._items[position] = _Item(position, kind)
        return self._items[position]

    def _output_index(self, body: Mapping[str, JSON]) -> int:
        id_ = text_or_empty(body.get("item_id")) or text_or_empty(
            object_or_empty(body.get("item")).get("id")
        )
        position = body.get("output_index")
        if not isinstance(position, int):
            self._assembler.note("index_missing", "$.output_index")
            position = self._ids.get(id_, len(self._items))
        if id_:
            self._ids.setdefault(id_, position)
        return position

    def _add_item(self, body: Mapping[str, JSON]) -> None:
        fields = object_or_empty(body.get("item"))
        item = self._item(body, "")
        if item is None:
            return
        item.kind, item.fields = text_or_empty(fields.get("type")), dict(fields)
        if item.kind in CALLS:
            self._begin(item, "arguments", 0)

    def _finish_item(self, body: Mapping[str, JSON]) -> None:
        fields = object_or_empty(body.get("item"))
        item = self._item(body, "")
        if item is None:
            return
        item.kind, item.final = text_or_empty(fields.get("type")), fields
        # The last call stays open: only the end shows whether the token limit cut it.
        if item.kind not in CALLS:
            self._settle(item)

    def _read_delta(self, body: Mapping[str, JSON], kind: str, label: str) -> None:
        item = self._item(body, kind)
        delta = body.get("delta")
        if item is None or not isinstance(delta, str):
            return
        item.kind = item.kind or kind
        # The parts of a summary form one text; those of a message are separate parts.
        position = body.get("content_index") if kind == "message" else 0
        key = self._begin(item, label, position if isinstance(position, int) else 0)
        self._assembler.extend(key, delta)

    def _begin(self, item: _Item, label: str, position: int) -> Hashable:
        key = (item.position, position)
        if key in item.labels:
            return key
        item.keys.append(key)
        item.labels[key] = label
        id_, name = text_or_empty(item.fields.get("id")), "refusal" if label == "refusal" else ""
        kind = PartKind.TEXT if item.kind == "message" else PartKind.OPAQUE
        if item.kind in CALLS:
            kind = PartKind.CALL
            id_, name = text_or_empty(item.fields.get("call_id")), _call_name(item)
        elif item.kind == "reasoning":
            kind, name = PartKind.REASONING, label
        self._assembler.start(key, kind, id=id_, name=name)
        return key

    def _settle_before(self) -> None:
        """Before another item begins: a call with a successor was not cut by the token limit.

        Unfinished items are started at least, so that parts keep the order of their items.
        """
        for item in self._items.values():
            if item.settled:
                continue
            if item.final is not None:
                self._settle(item)
            elif not item.keys:
                self._begin(item, FIRST_LABELS.get(item.kind, ""), 0)

    def _settle(self, item: _Item, *, cut: str = "") -> None:
        """End the parts of an item with the best known value."""
        if item.settled:
            return
        item.settled = True
        fields = item.final if item.final is not None else self._from_deltas(item)
        self._note_call(item, fields)
        parts = item_parts(fields, f"$.output[{item.position}]", self._seed)
        if item.final is None:
            self._assembler.note("item_not_finished", f"$.output[{item.position}]")
            parts = [self._check_complete(item, part) for part in parts]
        for index, part in enumerate(parts):
            if cut and isinstance(part, ToolCall | BrokenCall):
                path = f"$.output[{item.position}].arguments"
                part = as_cut_off(part, path, cut)  # noqa: PLW2901
            key = (item.position, index)
            if self._assembler.is_open(key):
                self._assembler.finish(key, part)
            else:
                self._assembler.add(key, part)
        self._close_rest(item)

    def _note_call(self, item: _Item, fields: Mapping[str, JSON]) -> None:
        """Note what a client misses that pairs by call_id, or joins the deltas of arguments."""
        if item.kind != "function_call":
            return
        path = f"$.output[{item.position}]"
        if not text_or_empty(fields.get("call_id")):
            self._assembler.note("missing_id", f"{path}.call_id")
        streamed = item.arguments or "".join(self._assembler.text(key) for key in item.keys)
        if text_or_empty(fields.get("arguments")).strip("{} ") and not streamed:
            self._assembler.note("arguments_not_streamed", f"{path}.arguments")

    def _close_rest(self, item: _Item) -> None:
        """End parts that deltas began and the finished item lacks."""
        for key in item.keys:
            if self._assembler.is_open(key):
                self._assembler.note("part_missing", f"$.output[{item.position}]")
                self._assembler.finish(key, Text(self._assembler.text(key)))

    def _from_deltas(self, item: _Item) -> dict[str, JSON]:
        texts = [
            (item.labels[key], self._assembler.text(key)) for key in sorted(item.keys, key=str)
        ]
        fields: dict[str, JSON] = {**item.fields, "type": item.kind}
        match item.kind:
            case "function_call":
                text = texts[0][1] if texts else ""
                fields["arguments"] = text if item.arguments is None else item.arguments
            case "reasoning":
                field_ = {"summary_text": "summary"}
                for label, text in texts:
                    entry: JSON = {"type": label, "text": text}
                    fields[field_.get(label, "content")] = [entry]
            case "message":
                fields["content"] = [
                    {"type": label, "refusal" if label == "refusal" else "text": text}
                    for label, text in texts
                ]
            case _:
                pass
        return fields

    def _check_complete(self, item: _Item, part: Part) -> Part:
        """A call known only from deltas counts only if nothing of it can be missing."""
        if not isinstance(part, ToolCall):
            return part
        path = f"$.output[{item.position}].arguments"
        if item.is_lost and item.arguments is None:
            return as_cut_off(part, path, LOST)
        if not part.raw and item.arguments is None and self._root is None:
            return as_cut_off(part, path, BROKEN_OFF)
        return part

    # The end.

    @override
    def _end(self) -> None:
        root = self._root or {**self._head, "status": "failed"}
        self._read_output(list_or_empty(root.get("output")))
        if self._root is None or self._failed:
            self._assembler.note("broken_off", "$")
        limited = read_stop(root, ()) is Stop.LENGTH
        last = max(self._items, default=-1)
        for item in sorted(self._items.values(), key=lambda item: item.position):
            self._settle(item, cut=CUT if limited and item.position == last else "")
        parts = self._assembler.parts
        stop = Stop.ERROR if self._root is None or self._failed else read_stop(root, parts)
        if repeats_id(parts):
            self._assembler.note("duplicate_id", "$.output")
        reply = build_reply(root, parts, stop, self._assembler.deviations)
        self._assembler.end(reply)

    def _read_output(self, output: list[JSON]) -> None:
        """Fill in from the last event what the stream did not send."""
        for position, value in enumerate(output):
            item = self._item({"output_index": position}, "")
            if item is not None and item.final is None and not item.settled:
                item.final = object_or_empty(value)
                item.kind = text_or_empty(item.final.get("type"))
                self._assembler.note("item_events_missing", f"$.output[{position}]")

    @override
    def _read_unstreamed_body(self, body: Mapping[str, JSON]) -> Reply:
        try:
            return read_reply(body, self._seed)
        except WireError:
            self._head["error"] = object_or_empty(body.get("error"))
            raise


def _call_name(item: _Item) -> str:
    """The name that a call starts with; that of free text is not known to be one of a function."""
    if item.kind == "custom_tool_call":
        return ""
    name, namespace = (text_or_empty(item.fields.get(key)) for key in ("name", "namespace"))
    return flat_name(namespace, name) if namespace else name
