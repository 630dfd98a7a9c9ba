"""Reads a streamed answer of Chat Completions."""

from __future__ import annotations

from collections.abc import Mapping

from typing_extensions import override

from probes.adapters.json_fields import (
    list_or_empty,
    object_or_empty,
    text_or_empty,
    text_or_none,
    unread_fields,
)
from probes.adapters.openai_chat.assistant_message import (
    REASONING_FIELDS,
    REFUSAL,
    message_leftover,
    read_content_part,
)
from probes.adapters.openai_chat.call_stream import CallStream, StreamedCall
from probes.adapters.openai_chat.errors import read_error
from probes.adapters.openai_chat.reasoning_details import DetailsStream
from probes.adapters.openai_chat.reply import (
    FINISH,
    MESSAGE,
    STOPS,
    read_answer_error,
    read_reply,
    read_usage,
    reply_extra,
    settle_stop,
)
from probes.adapters.openai_stream import OpenAIStreamReader
from probes.adapters.tool_calls import BROKEN_OFF, CUT
from probes.events import PartKind
from probes.messages import (
    JSON,
    Image,
    Opaque,
    Reasoning,
    ReasoningKind,
    Reply,
    ReplyError,
    Stop,
    Text,
)

DELTA = "$.choices[0].delta"


class ChatStreamReader(OpenAIStreamReader):
    """Chunks to events. Fields of the answer itself are kept by level, as they arrive."""

    NOTHING_SENT = "no_chunks"
    NOTES_KEEPALIVES = True

    def __init__(self, seed: str = "") -> None:
        super().__init__(seed)
        self._calls = CallStream(self._assembler, seed)
        self._details = DetailsStream()
        self._choice: dict[str, JSON] = {}
        self._message: dict[str, JSON] = {}
        self._other_reasoning: dict[str, list[str]] = {}
        self._field = ""
        self._runs = self._details_runs = 0  # how often each started again after another part
        self._reasoned = self._empty_content = False
        self._finish: str | None = None
        self._chunks = 0

    # One event of the stream.

    @override
    def _mark_lost(self) -> None:
        self._calls.mark_lost()

    @override
    def _is_empty(self) -> bool:
        return not self._chunks and not self._failed

    @override
    def _read_body(self, body: Mapping[str, JSON], name: str) -> None:
        if read_error(body) is not None or name == "error":
            self._failed = True
            self._assembler.note("error_in_stream", "$.error")
        choices = list_or_empty(body.get("choices"))
        self._chunks += 1 if "choices" in body else 0
        if body.get("usage") and not choices and self._finish is None and self._calls.calls:
            self._assembler.note("usage_before_finish", "$.usage")
        _keep(self._head, unread_fields(body, "choices"))
        if not self._assembler.begun:
            self._assembler.begin(self.id, text_or_empty(self._head.get("model")))
        for item in choices:
            choice = object_or_empty(item)
            if choice.get("index") in (0, None):
                self._read_choice(choice)
            else:
                self._assembler.note("extra_choices", "$.choices")

    def _read_choice(self, choice: Mapping[str, JSON]) -> None:
        # Some vendors send the last delta and the reason in one chunk: the delta comes first.
        delta = object_or_empty(choice.get("delta"))
        if self._finish is not None and (delta.get("content") or delta.get("tool_calls")):
            self._assembler.note("delta_after_finish", DELTA)
        self._read_delta(delta)
        _merge_choice(self._choice, choice)
        reason = text_or_none(choice.get("finish_reason"))
        if reason:
            self._finish = reason

    def _read_delta(self, delta: Mapping[str, JSON]) -> None:
        self._read_reasoning(delta)
        self._read_content(delta.get("content"))
        if isinstance(refusal := delta.get("refusal"), str) and refusal:
            self._close_reasoning()
            self._assembler.start("refusal", PartKind.TEXT, name="refusal")
            self._assembler.extend("refusal", refusal)
        if entries := list_or_empty(delta.get("tool_calls")):
            self._close_text()
            self._calls.feed(entries)
        if delta.get("function_call") is not None:
            self._close_text()
            self._calls.feed_legacy(delta["function_call"])
        known = {"refusal", "reasoning_details", *REASONING_FIELDS}
        unread = {key: value for key, value in delta.items() if key not in known or value is None}
        _keep(self._message, message_leftover(unread))

    def _read_content(self, content: JSON) -> None:
        if content == "":
            self._empty_content = True
        elif isinstance(content, str):
            self._add_text(content)
        elif isinstance(content, list):
            self._assembler.note("content_parts", f"{MESSAGE}.content")
            for item in content:
                part = read_content_part(item)
                if isinstance(part, Text):
                    self._add_text(part.text)
                else:
                    self._add_whole(part)

    def _add_text(self, text: str) -> None:
        self._close_reasoning()
        self._begin("text", PartKind.TEXT, "content")
        self._assembler.extend(("text", self._runs), text)

    def _add_whole(self, part: Image | Opaque) -> None:
        self._close_reasoning()
        self._close_text()
        self._runs += 1
        self._assembler.add(("opaque", self._runs), part)

    def _read_reasoning(self, delta: Mapping[str, JSON]) -> None:
        for name in REASONING_FIELDS:
            value = delta.get(name)
            if isinstance(value, str):
                self._field = self._field or name
                if name == self._field:
                    self._add_reasoning(value)
                else:
                    self._other_reasoning.setdefault(name, []).append(value)
        if isinstance(details := delta.get("reasoning_details"), list):
            self._begin_details()
            new = self._details.feed(details)
            if not self._field:
                self._assembler.extend(("details", self._details_runs), new)

    def _add_reasoning(self, text: str) -> None:
        # "" means that the field is present: an endpoint may require it back unchanged.
        if not text and self._reasoned:
            return
        self._reasoned = True
        if not self._assembler.is_open(("reasoning", self._runs)):
            self._close_text()
        self._begin("reasoning", PartKind.REASONING, "reasoning", name=self._field)
        self._assembler.extend(("reasoning", self._runs), text)

    def _begin_details(self) -> None:
        if self._assembler.is_open(("details", self._details_runs)):
            return
        self._check_order("reasoning")
        self._details, self._details_runs = DetailsStream(), self._details_runs + 1
        key = ("details", self._details_runs)
        self._assembler.start(key, PartKind.REASONING, name="reasoning_details")

    def _begin(self, key: str, kind: PartKind, what: str, *, name: str = "") -> None:
        """Begin a part unless it is open; an ended part begins again, which is noted."""
        if self._assembler.is_open((key, self._runs)):
            return
        self._check_order(what)
        self._runs += 1
        self._assembler.start((key, self._runs), kind, name=name)

    def _check_order(self, what: str) -> None:
        if self._calls.calls:
            self._calls.start_until()
            self._assembler.note(f"{what}_after_calls", DELTA)
        elif what == "reasoning" and self._assembler.has(("text", self._runs)):
            self._assembler.note("reasoning_after_content", DELTA)

    def _close_reasoning(self) -> None:
        key = ("reasoning", self._runs)
        if self._assembler.is_open(key):
            text = self._assembler.text(key)
            self._assembler.finish(key, Reasoning(text, ReasoningKind.FIELD, self._field))
        key = ("details", self._details_runs)
        if self._assembler.is_open(key):
            text = "" if self._field else self._assembler.text(key)
            details = Reasoning(text, ReasoningKind.DETAILS, self._details.raw)
            self._assembler.finish(key, details)

    def _close_text(self) -> None:
        self._close_reasoning()
        key = ("text", self._runs)
        if self._assembler.is_open(key):
            self._assembler.finish(key, Text(self._assembler.text(key)))

    # The end.

    @override
    def _end(self) -> None:
        self._close_text()
        self._settle_parts()
        for name, texts in self._other_reasoning.items():
            self._message[name] = "".join(texts)
        parts = self._assembler.parts
        stop, notes = settle_stop(self._finish or self._implied_finish(), parts)
        for note in notes if self._finish else ():
            self._assembler.note(note.name, note.path)
        self._note_ending()
        self._assembler.end(
            Reply(
                parts=parts,
                stop=Stop.ERROR if self._is_broken_off() else stop,
                usage=read_usage(self._head.get("usage")),
                id=self.id,
                model=text_or_none(self._head.get("model")),
                fingerprint=text_or_none(self._head.get("system_fingerprint")),
                stop_raw=self._finish,
                deviations=self._assembler.deviations,
                extra=reply_extra(self._head, self._choice, self._message),
                raw=self._head,
                error=self._error(),
            )
        )

    def _error(self) -> ReplyError | None:
        if not self._failed and self._finish != "error":
            return None
        return read_answer_error(self._head, self._choice)

    def _settle_parts(self) -> None:
        if self._assembler.is_open("refusal"):
            self._assembler.finish("refusal", Text(self._assembler.text("refusal"), REFUSAL))
        has_text = any(isinstance(part, Text) for part in self._assembler.parts)
        if self._empty_content and not has_text and not self._calls.calls:
            self._assembler.add("empty", Text(""))
        self._calls.finish(self._why_cut)

    def _why_cut(self, call: StreamedCall) -> str:
        """Why a call must not be executed: only the last one can be cut."""
        if call is not self._calls.calls[-1]:
            return ""
        if self._finish and STOPS.get(self._finish) is Stop.LENGTH:
            return CUT
        return BROKEN_OFF if self._is_broken_off() and not call.is_complete() else ""

    def _is_broken_off(self) -> bool:
        failed = self._failed or self._finish == "error"
        return failed or (self._finish is None and not self._done)

    def _implied_finish(self) -> str:
        return "tool_calls" if self._calls.calls else "stop"

    def _note_ending(self) -> None:
        if self._finish is None:
            self._assembler.note("finish_reason_missing", FINISH)
        elif self._finish not in STOPS:
            self._assembler.note("unknown_finish_reason", FINISH)
        if not self._done:
            self._assembler.note("done_missing", "$")
        if self._is_broken_off():
            self._assembler.note("broken_off", "$")

    @override
    def _read_unstreamed_body(self, body: Mapping[str, JSON]) -> Reply | None:
        if read_error(body) is None:
            return read_reply(body, self._seed)
        self._read_body(body, "error")
        return None


def _keep(into: dict[str, JSON], fields: Mapping[str, JSON]) -> None:
    """Keep the first value of each field; null, "" and the year 1970 do not count.

    Usage may be counted up in every chunk, so its last value counts.
    """
    for key, value in fields.items():
        unsaid = (None, "", 0) if key == "created" else (None, "")
        if into.get(key) in unsaid or (key == "usage" and value):
            into[key] = value


def _merge_choice(into: dict[str, JSON], choice: Mapping[str, JSON]) -> None:
    for key, value in choice.items():
        if key == "logprobs" and isinstance(value, Mapping):
            held = into.get(key)
            into[key] = held if isinstance(held, dict) else {}
            _merge_lists(into[key], value)
        elif into.get(key) is None:
            into[key] = value


def _merge_lists(into: JSON, fields: Mapping[str, JSON]) -> None:
    assert isinstance(into, dict)
    for key, value in fields.items():
        held = into.get(key)
        if isinstance(held, list) and isinstance(value, list):
            held.extend(value)
        elif held is None:
            into[key] = list(value) if isinstance(value, list) else value
