"""An attempt's evidence as a page shows it: texts inert and bounded, findings in their place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dashboard.core.safe_text import SHOWN_LENGTH, MarkedText, MarkSpan, clip, mark_text, visible
from dashboard.runs.exchange import bounded_json, conversation_view, curl, finding_location
from dashboard.runs.exchange import call_cards as cards
from dashboard.runs.exchange.call_cards import Card
from dashboard.runs.exchange.chunk_timeline import Timeline, timeline
from dashboard.runs.exchange.conversation_view import Line, Read
from dashboard.runs.exchange.finding_location import Place
from dashboard.runs.exchange.stored_evidence import Exchange, Got, Sent, exchanges
from probes.messages import Usage

_LINE = 4000
_HEADERS = 8000


@dataclass(frozen=True, slots=True)
class Source:
    """Whose evidence it is, which says how to read it and how its request is written."""

    provider: str
    has_key: bool
    prefix: str  # what ids of marks on the page begin with


@dataclass(frozen=True, slots=True)
class FindingShown:
    """A finding, and the mark that shows it; else `why_not` is absent, beyond or nowhere."""

    kind: str
    message: str
    path: str
    mark: str = ""
    exchange: int = 0
    why_not: str = ""


@dataclass(frozen=True, slots=True)
class RequestShown:
    line: str
    headers: str
    body: MarkedText
    raw: MarkedText
    is_pretty: bool
    truncated: bool
    curl: str


@dataclass(frozen=True, slots=True)
class ReplyShown:
    got: Got
    headers: str
    body: MarkedText
    timeline: Timeline | None


@dataclass(frozen=True, slots=True)
class ExchangeShown:
    number: int
    label: str
    asked: tuple[Line, ...]
    answered: tuple[Line, ...]
    tools: tuple[str, ...]
    cards: tuple[Card, ...]
    usage: Usage | None
    stop: str
    request: RequestShown | None
    reply: ReplyShown | None
    error: str


@dataclass(frozen=True, slots=True)
class EvidenceShown:
    exchanges: tuple[ExchangeShown, ...]
    findings: tuple[FindingShown, ...]


def shown(
    evidence: Mapping[str, Any],
    findings: Sequence[Mapping[str, Any]],
    source: Source,
    *,
    limit: int = SHOWN_LENGTH,
) -> EvidenceShown:
    """Everything a page shows of an attempt; no text is longer than the limit."""
    told = conversation_view.read(exchanges(evidence), source.provider)
    places = finding_location.places(findings, told)
    spans = _spans(places, source.prefix)
    fed_back = conversation_view.results(told)
    steps = [
        _exchange(
            read, cards.cards(read, fed_back), spans.get(read.exchange.number, []), source, limit
        )
        for read in told
    ]
    marks = {mark for step in steps if step.reply for mark in step.reply.body.marks}
    found = [
        _finding(finding, place, f"{source.prefix}-{number}", marks)
        for number, (finding, place) in enumerate(zip(findings, places, strict=True), 1)
    ]
    return EvidenceShown(tuple(steps), tuple(found))


def inert_finding(finding: Mapping[str, Any]) -> FindingShown:
    """A finding by itself, where there is no text to show it in."""
    return FindingShown(
        kind=_inert(finding.get("kind", ""), 100),
        message=_inert(finding.get("message", ""), 2000),
        path=_inert(finding.get("path", ""), 500),
    )


def _spans(places: Sequence[Place | None], prefix: str) -> dict[int, list[MarkSpan]]:
    spans: dict[int, list[MarkSpan]] = {}
    for number, place in enumerate(places, 1):
        for start, end in place.parts if place else ():
            assert place is not None
            spans.setdefault(place.exchange, []).append(MarkSpan(start, end, f"{prefix}-{number}"))
    return spans


def _finding(
    finding: Mapping[str, Any], place: Place | None, mark: str, marks: set[str]
) -> FindingShown:
    plain = inert_finding(finding)
    if place is None:
        why_not = "absent" if plain.kind in finding_location.ABSENT else "nowhere"
        return FindingShown(plain.kind, plain.message, plain.path, why_not=why_not)
    if mark not in marks:
        return FindingShown(
            plain.kind, plain.message, plain.path, "", place.exchange, why_not="beyond"
        )
    return FindingShown(plain.kind, plain.message, plain.path, mark, place.exchange)


def _exchange(
    read: Read, found: Sequence[Card], spans: Sequence[MarkSpan], source: Source, limit: int
) -> ExchangeShown:
    exchange = read.exchange
    return ExchangeShown(
        number=exchange.number,
        label=_inert(exchange.label, 300),
        asked=tuple(_line(line) for line in read.asked),
        answered=tuple(_line(line) for line in read.answered),
        tools=tuple(_inert(tool.name, 100) for tool in read.call.tools) if read.call else (),
        cards=tuple(found),
        usage=read.usage,
        stop=_inert(read.reply.stop_raw or read.reply.stop, 100) if read.reply else "",
        request=_request(exchange.sent, source, limit) if exchange.sent else None,
        reply=_reply(exchange, spans, limit),
        error=_inert(exchange.error, 2000),
    )


def _line(line: Line) -> Line:
    text = bounded_json.pretty(line.text) if line.kind in {"result", "call"} else line.text
    return Line(line.who, line.kind, _inert(text, _LINE), _inert(line.name, 200), line.is_error)


def _request(sent: Sent, source: Source, limit: int) -> RequestShown:
    pretty = bounded_json.pretty(sent.body)
    return RequestShown(
        line=_inert(f"{sent.method} {sent.url}", 3000),
        headers=_headers(sent.headers),
        body=mark_text(pretty, limit=limit),
        raw=mark_text(sent.body, limit=limit),
        is_pretty=pretty != sent.body,
        truncated=sent.truncated,
        curl=curl.command(sent, source.provider, has_key=source.has_key),
    )


def _reply(exchange: Exchange, spans: Sequence[MarkSpan], limit: int) -> ReplyShown | None:
    got = exchange.got
    if got is None:
        return None
    return ReplyShown(
        got, _headers(got.headers), mark_text(got.text, spans, limit), timeline(got.chunks)
    )


def _headers(headers: Mapping[str, str]) -> str:
    return _inert("\n".join(f"{name}: {value}" for name, value in headers.items()), _HEADERS)


def _inert(text: object, limit: int) -> str:
    return visible(clip(str(text), limit))
