"""An attempt as a conversation: what we said, what the model said, its calls and their results."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile

from dashboard.runs.exchange import bounded_json
from dashboard.runs.exchange.stored_evidence import Exchange
from probes.adapters import adapter_for
from probes.adapters.base import Adapter
from probes.errors import ProbesError
from probes.exchange import read_reply
from probes.http_messages import WireResponse
from probes.messages import (
    BrokenCall,
    ModelCall,
    Reasoning,
    Reply,
    Role,
    Text,
    ToolCall,
    ToolResult,
    Turn,
    Usage,
)
from probes.parsers.base import RawCall
from probes.parsers.reader import TextReader
from probes.resolve.call import resolve_call
from probes.target import Provider

# Of a long history only the newest turns are told; the request has all of it.
_TURNS = 8


@dataclass(frozen=True, slots=True)
class Line:
    """Something that was said: by the system, the user, a tool or the model."""

    who: str
    kind: str  # text, reasoning, result, call
    text: str
    name: str = ""
    is_error: bool = False


@dataclass(frozen=True, slots=True)
class Read:
    """An exchange read again: what was new in the question, and what the answer says.

    `call` and `reply` are None where the stored bytes cannot be read; then `unread` says why.
    """

    exchange: Exchange
    call: ModelCall | None = None
    reply: Reply | None = None
    unread: str = ""
    asked: tuple[Line, ...] = ()
    answered: tuple[Line, ...] = ()
    # The calls that stand in the text where the wire has none, and their markup.
    leaked: tuple[ToolCall | BrokenCall, ...] = ()
    markup: tuple[str, ...] = ()

    @property
    def usage(self) -> Usage | None:
        return self.reply.usage if self.reply else None


def read(exchanges: Sequence[Exchange], provider: str) -> list[Read]:
    """Every exchange with what was said in it."""
    adapter = adapter_for(Provider(provider))
    told: list[Read] = []
    before: tuple[Turn, ...] = ()
    for exchange in exchanges:
        call = _call(exchange, adapter)
        told.append(_read(exchange, call, before, adapter))
        before = call.turns if call else ()
    return told


def results(told: Sequence[Read]) -> dict[str, ToolResult]:
    """The results that were fed back, by the id of their call; the first one of each counts."""
    found: dict[str, ToolResult] = {}
    for each in told:
        for turn in each.call.turns if each.call else ():
            for result in turn.results:
                found.setdefault(result.call_id, result)
    return found


def _read(
    exchange: Exchange, call: ModelCall | None, before: tuple[Turn, ...], adapter: Adapter
) -> Read:
    asked = tuple(_asked(call.turns, before)) if call else ()
    reply, unread = _reply(exchange, call, adapter)
    leaked = _leaked(reply, call)
    return Read(
        exchange=exchange,
        call=call,
        reply=reply,
        unread=unread,
        asked=asked,
        answered=tuple(_answered(reply)) if reply else (),
        leaked=tuple(resolve_call(raw, call.tools) for raw in leaked) if call else (),
        markup=tuple(raw.raw for raw in leaked),
    )


def _call(exchange: Exchange, adapter: Adapter) -> ModelCall | None:
    body = bounded_json.read(exchange.sent.body) if exchange.sent else None
    if not isinstance(body, Mapping):
        return None
    try:
        return adapter.read_request(body)
    except ProbesError:
        return None


def _reply(
    exchange: Exchange, call: ModelCall | None, adapter: Adapter
) -> tuple[Reply | None, str]:
    got = exchange.got
    if got is None or got.status is None or got.truncated:
        return None, ""
    streamed = _is_streamed(exchange, call)
    try:
        return read_reply(
            adapter, WireResponse(got.status, got.headers, got.chunks), streamed=streamed
        ), ""
    except ProbesError as exc:
        return None, exc.message


def _is_streamed(exchange: Exchange, call: ModelCall | None) -> bool:
    # Gemini tells it in the address alone.
    in_address = exchange.sent is not None and "streamGenerateContent" in exchange.sent.url
    return in_address or (call is not None and call.stream)


def _asked(turns: tuple[Turn, ...], before: tuple[Turn, ...]) -> Iterator[Line]:
    pairs = zip(turns, before, strict=False)
    known = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
    for turn in turns[known:][-_TURNS:]:
        yield from _lines(turn)


def _lines(turn: Turn) -> Iterator[Line]:
    who = {Role.ASSISTANT: "model"}.get(turn.role, str(turn.role))
    for part in turn.parts:
        match part:
            case Text(text):
                yield Line(who, "text", text)
            case Reasoning(text):
                yield Line(who, "reasoning", text)
            case ToolResult():
                yield Line("tool", "result", part.content, part.name, part.is_error)
            case ToolCall():
                yield Line(who, "call", part.raw or bounded_json.dump(part.input), part.name)
            case _:
                pass


def _answered(reply: Reply) -> Iterator[Line]:
    yield from (line for line in _lines(reply.as_turn()) if line.kind != "call" and line.text)


def _leaked(reply: Reply | None, call: ModelCall | None) -> list[RawCall]:
    if reply is None or call is None or reply.calls or reply.broken or not call.tools:
        return []
    return _in_text(reply.text, call) or _in_text(reply.reasoning, call)


def _in_text(text: str | None, call: ModelCall) -> list[RawCall]:
    reader = TextReader(call.tools, format="auto", prefill="", truncated=False)
    found = [*reader.feed(text or ""), *reader.close()]
    return [item for item in found if isinstance(item, RawCall)]
