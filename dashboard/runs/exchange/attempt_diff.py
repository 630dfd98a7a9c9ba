"""An attempt beside the last good one: what was asked, what was read, what came back."""

from __future__ import annotations

from dataclasses import dataclass

from dashboard.core.safe_text import clip, visible
from dashboard.models import Attempt, Run
from dashboard.runs import evidence
from dashboard.runs.exchange import bounded_json
from dashboard.runs.exchange import normalise as drawn
from dashboard.runs.exchange.stored_evidence import Exchange, exchanges
from dashboard.runs.exchange.text_diff import Difference, compare
from dashboard.runs.last_passing import LastGood

# Scripts ask some ten times at most.
_STEPS = 12


@dataclass(frozen=True, slots=True)
class Step:
    """One exchange of both attempts; a text that a side does not have is empty."""

    label: str
    only: str  # good or this, where the other side never asked it
    calls: Difference
    request: Difference
    reply: Difference


@dataclass(frozen=True, slots=True)
class Comparison:
    """The steps; `missing` says on which side the evidence is no longer stored."""

    steps: tuple[Step, ...]
    missing: str = ""
    is_named: bool = False  # drawn values were replaced by their names


def of(attempt: Attempt, run: Run, good: LastGood, *, is_raw: bool) -> Comparison:
    """Both attempts side by side. Unless `is_raw`, what differs by design is taken out first."""
    before, now = evidence.read(good.attempt), evidence.read(attempt)
    if before is None or now is None:
        return Comparison((), missing="good" if before is None else "this")
    left = _Texts.of(good.attempt, good.run, is_raw=is_raw)
    right = _Texts.of(attempt, run, is_raw=is_raw)
    pairs = _paired(exchanges(before)[:_STEPS], exchanges(now)[:_STEPS])
    steps = tuple(_step(one, other, left, right) for one, other in pairs)
    return Comparison(steps, is_named=bool(left.drawn and right.drawn))


@dataclass(frozen=True, slots=True)
class _Texts:
    """How the texts of one side are written."""

    drawn: dict[str, str]
    is_raw: bool

    @classmethod
    def of(cls, attempt: Attempt, run: Run, *, is_raw: bool) -> _Texts:
        told = (
            {}
            if is_raw
            else drawn.values(
                attempt.probe, attempt.trial, seed=run.seed, suite_version=run.suite_version
            )
        )
        return cls(told, is_raw)

    def request(self, exchange: Exchange | None) -> str:
        sent = exchange.sent if exchange else None
        return self._written(bounded_json.pretty(sent.body)) if sent else ""

    def calls(self, exchange: Exchange | None) -> str:
        return self._written(bounded_json.dump(exchange.calls)) if exchange else ""

    def reply(self, exchange: Exchange | None) -> str:
        got = exchange.got if exchange else None
        if exchange is None or got is None:
            return exchange.error if exchange else ""
        head = f"HTTP {got.status}"
        return self._written(f"{head}\n{bounded_json.pretty(got.text)}")

    def _written(self, text: str) -> str:
        return text if self.is_raw else drawn.without(text, self.drawn)


def _step(one: Exchange | None, other: Exchange | None, left: _Texts, right: _Texts) -> Step:
    either = other or one
    assert either is not None
    return Step(
        label=visible(clip(either.label, 300)),
        only="good" if other is None else "this" if one is None else "",
        calls=compare(left.calls(one), right.calls(other)),
        request=compare(left.request(one), right.request(other)),
        reply=compare(left.reply(one), right.reply(other)),
    )


def _paired(
    before: list[Exchange], now: list[Exchange]
) -> list[tuple[Exchange | None, Exchange | None]]:
    """Exchanges of the same label, in the order of the newer side; then what only the older had."""
    left = list(before)
    pairs: list[tuple[Exchange | None, Exchange | None]] = []
    for exchange in now:
        match = next((each for each in left if each.label == exchange.label), None)
        if match is not None:
            left.remove(match)
        pairs.append((match, exchange))
    return [*pairs, *((each, None) for each in left)]
