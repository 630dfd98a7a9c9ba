"""An attempt as a conversation: prompts, model output, tool calls and their results."""

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
    Stop,
    Text,
    ToolCall,
    ToolResult,
    Turn,
    Usage,
)
from probes.parsers.base import RawCall
from probes.parsers.diagnosis.find_markup import find_markup
from probes.parsers.markup import SHOWS_CALL
from probes.parsers.reader import TextReader
from probes.resolve.call import resolve_call
from probes.target import Provider

# Only the newest turns of a long history are shown; the raw request has all of them.
_MAX_TURNS = 8


@dataclass(frozen=True, slots=True)
class ConversationLine:
    """A message of the system, the user, a tool or the model."""

    role: str
    kind: str  # text, reasoning, result, call
    text: str
    name: str = ""
    is_error: bool = False


@dataclass(frozen=True, slots=True)
class ParsedExchange:
    """An exchange parsed again: the new messages of its request and those of its reply.

    `call` and `reply` are None if the stored bytes cannot be parsed.
    """

    exchange: Exchange
    call: ModelCall | None = None
    reply: Reply | None = None
    request_lines: tuple[ConversationLine, ...] = ()
    reply_lines: tuple[ConversationLine, ...] = ()
    # Calls found in the text although the wire format has none, and their markup.
    leaked: tuple[ToolCall | BrokenCall, ...] = ()
    markup: tuple[str, ...] = ()

    @property
    def usage(self) -> Usage | None:
        return self.reply.usage if self.reply else None


def parse_exchanges(exchanges: Sequence[Exchange], provider: str) -> list[ParsedExchange]:
    adapter = adapter_for(Provider(provider))
    parsed: list[ParsedExchange] = []
    previous_turns: tuple[Turn, ...] = ()
    for exchange in exchanges:
        call = _parse_request(exchange, adapter)
        parsed.append(_parse_exchange(exchange, call, previous_turns, adapter))
        previous_turns = call.turns if call else ()
    return parsed


def collect_results(exchanges: Sequence[ParsedExchange]) -> dict[str, ToolResult]:
    """The tool results that were sent back, by call id; the first result of a call counts."""
    results: dict[str, ToolResult] = {}
    for exchange in exchanges:
        for turn in exchange.call.turns if exchange.call else ():
            for result in turn.results:
                results.setdefault(result.call_id, result)
    return results


def _parse_exchange(
    exchange: Exchange, call: ModelCall | None, previous_turns: tuple[Turn, ...], adapter: Adapter
) -> ParsedExchange:
    request_lines = tuple(_new_lines(call.turns, previous_turns)) if call else ()
    reply = _parse_reply(exchange, call, adapter)
    leaked = _find_leaked_calls(reply, call)
    markup = tuple(raw.raw for raw in leaked) or tuple(_find_shown_calls(reply, call))
    return ParsedExchange(
        exchange=exchange,
        call=call,
        reply=reply,
        request_lines=request_lines,
        reply_lines=tuple(_reply_lines(reply)) if reply else (),
        leaked=tuple(resolve_call(raw, call.tools) for raw in leaked) if call else (),
        markup=markup,
    )


def _parse_request(exchange: Exchange, adapter: Adapter) -> ModelCall | None:
    body = bounded_json.loads(exchange.request.body) if exchange.request else None
    if not isinstance(body, Mapping):
        return None
    try:
        return adapter.read_request(body)
    except ProbesError:
        return None


def _parse_reply(exchange: Exchange, call: ModelCall | None, adapter: Adapter) -> Reply | None:
    stored = exchange.reply
    if stored is None or stored.status is None or stored.truncated:
        return None
    response = WireResponse(stored.status, stored.headers, stored.chunks)
    try:
        return read_reply(adapter, response, streamed=_is_streamed(exchange, call))
    except ProbesError:
        return None


def _is_streamed(exchange: Exchange, call: ModelCall | None) -> bool:
    # Gemini requests a stream only by the path of the URL.
    request = exchange.request
    is_gemini_stream = request is not None and "streamGenerateContent" in request.url
    return is_gemini_stream or (call is not None and call.stream)


def _new_lines(turns: tuple[Turn, ...], previous: tuple[Turn, ...]) -> Iterator[ConversationLine]:
    pairs = zip(turns, previous, strict=False)
    unchanged = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
    for turn in turns[unchanged:][-_MAX_TURNS:]:
        yield from _turn_lines(turn)


def _turn_lines(turn: Turn) -> Iterator[ConversationLine]:
    role = {Role.ASSISTANT: "model"}.get(turn.role, str(turn.role))
    for part in turn.parts:
        match part:
            case Text(text):
                yield ConversationLine(role, "text", text)
            case Reasoning(text):
                yield ConversationLine(role, "reasoning", text)
            case ToolResult():
                yield ConversationLine("tool", "result", part.content, part.name, part.is_error)
            case ToolCall():
                yield ConversationLine(
                    role, "call", part.raw or bounded_json.dumps(part.input), part.name
                )
            case _:
                pass


def _reply_lines(reply: Reply) -> Iterator[ConversationLine]:
    yield from (line for line in _turn_lines(reply.as_turn()) if line.kind != "call" and line.text)


def _find_leaked_calls(reply: Reply | None, call: ModelCall | None) -> list[RawCall]:
    for text in _texts_instead_of_calls(reply, call):
        if reply and call and (raw_calls := _find_calls_in_text(text, reply, call)):
            return raw_calls
    return []


def _find_shown_calls(reply: Reply | None, call: ModelCall | None) -> list[str]:
    """Markup of calls that cannot be read, or that was only quoted."""
    return [
        text[slice(*markup.span)]
        for text in _texts_instead_of_calls(reply, call)
        for markup in find_markup(text, call.tools if call else ())
        if markup.confidence >= SHOWS_CALL
    ]


def _texts_instead_of_calls(reply: Reply | None, call: ModelCall | None) -> list[str]:
    if reply is None or call is None or reply.calls or reply.broken or not call.tools:
        return []
    return [text for text in (reply.text, reply.reasoning) if text]


def _find_calls_in_text(text: str, reply: Reply, call: ModelCall) -> list[RawCall]:
    reader = TextReader(call.tools, truncated=reply.stop is Stop.LENGTH)
    items = [*reader.feed(text), *reader.close()]
    return [item for item in items if isinstance(item, RawCall)]
