"""The evidence of an attempt for a page: safe, bounded texts with the findings marked in them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dashboard.core.safe_text import SHOWN_LENGTH, MarkedText, MarkSpan, clip, mark_text, visible
from dashboard.runs.exchange import (
    bounded_json,
    call_cards,
    conversation_view,
    curl,
    finding_location,
)
from dashboard.runs.exchange.call_cards import CallCard
from dashboard.runs.exchange.chunk_timeline import Timeline, build_timeline
from dashboard.runs.exchange.conversation_view import ConversationLine, ParsedExchange
from dashboard.runs.exchange.finding_location import Location
from dashboard.runs.exchange.stored_evidence import (
    Exchange,
    StoredReply,
    StoredRequest,
    read_exchanges,
)
from probes.messages import Usage

_MAX_LINE = 4000
_MAX_HEADERS = 8000


@dataclass(frozen=True, slots=True)
class EvidenceSource:
    """Where the evidence comes from; decides how it is parsed and how its curl command looks."""

    provider: str
    has_key: bool
    prefix: str  # of the ids of marks on the page


@dataclass(frozen=True, slots=True)
class FindingView:
    """A finding and the id of its mark; without one, `unmarked_reason` says why.

    The reasons are absent (nothing to point at), beyond (not in the part shown) and nowhere.
    """

    kind: str
    message: str
    path: str
    mark: str = ""
    exchange: int = 0
    unmarked_reason: str = ""


@dataclass(frozen=True, slots=True)
class RequestView:
    line: str
    headers: str
    body: MarkedText
    raw: MarkedText
    is_pretty: bool
    truncated: bool
    curl: str


@dataclass(frozen=True, slots=True)
class ReplyView:
    stored: StoredReply
    headers: str
    body: MarkedText
    timeline: Timeline | None


@dataclass(frozen=True, slots=True)
class ExchangeView:
    number: int
    label: str
    request_lines: tuple[ConversationLine, ...]
    reply_lines: tuple[ConversationLine, ...]
    tools: tuple[str, ...]
    cards: tuple[CallCard, ...]
    usage: Usage | None
    stop: str
    request: RequestView | None
    reply: ReplyView | None
    error: str
    retried: tuple[int, ...] = ()
    reconnects: int = 0


@dataclass(frozen=True, slots=True)
class EvidenceView:
    exchanges: tuple[ExchangeView, ...]
    findings: tuple[FindingView, ...]


def build_evidence_view(
    evidence: Mapping[str, Any],
    findings: Sequence[Mapping[str, Any]],
    source: EvidenceSource,
    *,
    limit: int = SHOWN_LENGTH,
) -> EvidenceView:
    """All that a page shows of an attempt; no text is longer than `limit`."""
    parsed = conversation_view.parse_exchanges(read_exchanges(evidence), source.provider)
    locations = finding_location.locate_findings(findings, parsed)
    spans = _mark_spans(locations, source.prefix)
    results = conversation_view.collect_results(parsed)
    exchanges = [
        _exchange_view(
            each,
            call_cards.build_cards(each, results),
            spans.get(each.exchange.number, []),
            source,
            limit,
        )
        for each in parsed
    ]
    replies = [exchange.reply for exchange in exchanges if exchange.reply]
    marks = {mark for reply in replies for mark in reply.body.marks}
    finding_views = [
        _marked_finding_view(finding, location, f"{source.prefix}-{number}", marks)
        for number, (finding, location) in enumerate(zip(findings, locations, strict=True), 1)
    ]
    return EvidenceView(tuple(exchanges), tuple(finding_views))


def build_finding_view(finding: Mapping[str, Any]) -> FindingView:
    """A finding without a mark."""
    return FindingView(
        kind=_safe_text(finding.get("kind", ""), 100),
        message=_safe_text(finding.get("message", ""), 2000),
        path=_safe_text(finding.get("path", ""), 500),
    )


def _mark_spans(locations: Sequence[Location | None], prefix: str) -> dict[int, list[MarkSpan]]:
    spans: dict[int, list[MarkSpan]] = {}
    for number, location in enumerate(locations, 1):
        for start, end in location.spans if location else ():
            assert location is not None
            spans.setdefault(location.exchange, []).append(
                MarkSpan(start, end, f"{prefix}-{number}")
            )
    return spans


def _marked_finding_view(
    finding: Mapping[str, Any], location: Location | None, mark: str, marks: set[str]
) -> FindingView:
    plain = build_finding_view(finding)
    if location is None:
        unmarked_reason = "absent" if plain.kind in finding_location.ABSENT else "nowhere"
        return FindingView(plain.kind, plain.message, plain.path, unmarked_reason=unmarked_reason)
    if mark not in marks:
        return FindingView(
            plain.kind, plain.message, plain.path, "", location.exchange, unmarked_reason="beyond"
        )
    return FindingView(plain.kind, plain.message, plain.path, mark, location.exchange)


def _exchange_view(
    parsed: ParsedExchange,
    cards: Sequence[CallCard],
    spans: Sequence[MarkSpan],
    source: EvidenceSource,
    limit: int,
) -> ExchangeView:
    exchange = parsed.exchange
    return ExchangeView(
        number=exchange.number,
        label=_safe_text(exchange.label, 300),
        request_lines=tuple(_safe_line(line) for line in parsed.request_lines),
        reply_lines=tuple(_safe_line(line) for line in parsed.reply_lines),
        tools=tuple(_safe_text(tool.name, 100) for tool in parsed.call.tools)
        if parsed.call
        else (),
        cards=tuple(cards),
        usage=parsed.usage,
        stop=_safe_text(parsed.reply.stop_raw or parsed.reply.stop, 100) if parsed.reply else "",
        request=_request_view(exchange.request, source, limit) if exchange.request else None,
        reply=_reply_view(exchange, spans, limit),
        error=_safe_text(exchange.error, 2000),
        retried=exchange.retried,
        reconnects=exchange.reconnects,
    )


def _safe_line(line: ConversationLine) -> ConversationLine:
    text = bounded_json.reformat(line.text) if line.kind in {"result", "call"} else line.text
    return ConversationLine(
        line.role, line.kind, _safe_text(text, _MAX_LINE), _safe_text(line.name, 200), line.is_error
    )


def _request_view(request: StoredRequest, source: EvidenceSource, limit: int) -> RequestView:
    pretty = bounded_json.reformat(request.body)
    return RequestView(
        line=_safe_text(f"{request.method} {request.url}", 3000),
        headers=_format_headers(request.headers),
        body=mark_text(pretty, limit=limit),
        raw=mark_text(request.body, limit=limit),
        is_pretty=pretty != request.body,
        truncated=request.truncated,
        curl=curl.build_command(request, source.provider, has_key=source.has_key),
    )


def _reply_view(exchange: Exchange, spans: Sequence[MarkSpan], limit: int) -> ReplyView | None:
    stored = exchange.reply
    if stored is None:
        return None
    return ReplyView(
        stored,
        _format_headers(stored.headers),
        mark_text(stored.text, spans, limit),
        build_timeline(stored.chunks),
    )


def _format_headers(headers: Mapping[str, str]) -> str:
    return _safe_text(
        "\n".join(f"{name}: {value}" for name, value in headers.items()), _MAX_HEADERS
    )


def _safe_text(text: object, limit: int) -> str:
    return visible(clip(str(text), limit))
