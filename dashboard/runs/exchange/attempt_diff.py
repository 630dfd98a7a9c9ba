"""Compares an attempt with the last passing one: requests, parsed calls, replies."""

from __future__ import annotations

from dataclasses import dataclass

from dashboard.core.safe_text import clip, visible
from dashboard.models import Attempt, Run
from dashboard.runs import evidence
from dashboard.runs.exchange import bounded_json, normalise
from dashboard.runs.exchange.stored_evidence import Exchange, read_exchanges
from dashboard.runs.exchange.text_diff import TextDiff, diff_texts
from dashboard.runs.last_passing import LastPassing

# The longest scripts have about ten exchanges.
_MAX_STEPS = 12


@dataclass(frozen=True, slots=True)
class StepDiff:
    """One exchange of both attempts; a missing text is empty."""

    label: str
    only_side: str  # "good" or "this" if the other side lacks the exchange
    calls: TextDiff
    request: TextDiff
    reply: TextDiff


@dataclass(frozen=True, slots=True)
class AttemptDiff:
    """The steps; `missing_side` ("good" or "this") if its evidence is no longer stored."""

    steps: tuple[StepDiff, ...]
    missing_side: str = ""
    has_names: bool = False  # drawn values were replaced by their names


def diff_attempts(attempt: Attempt, run: Run, passing: LastPassing, *, is_raw: bool) -> AttemptDiff:
    """Compare both attempts. Unless `is_raw`, what differs by design is normalised first."""
    before, now = evidence.read_evidence(passing.attempt), evidence.read_evidence(attempt)
    if before is None or now is None:
        return AttemptDiff((), missing_side="good" if before is None else "this")
    left = _SideTexts.for_attempt(passing.attempt, passing.run, is_raw=is_raw)
    right = _SideTexts.for_attempt(attempt, run, is_raw=is_raw)
    pairs = _pair_exchanges(read_exchanges(before)[:_MAX_STEPS], read_exchanges(now)[:_MAX_STEPS])
    steps = tuple(_diff_step(one, other, left, right) for one, other in pairs)
    return AttemptDiff(steps, has_names=bool(left.value_names and right.value_names))


@dataclass(frozen=True, slots=True)
class _SideTexts:
    """Formats the texts of one side."""

    value_names: dict[str, str]
    is_raw: bool

    @classmethod
    def for_attempt(cls, attempt: Attempt, run: Run, *, is_raw: bool) -> _SideTexts:
        value_names = (
            {}
            if is_raw
            else normalise.read_drawn_values(
                attempt.probe, attempt.trial, seed=run.seed, suite_version=run.suite_version
            )
        )
        return cls(value_names, is_raw)

    def request(self, exchange: Exchange | None) -> str:
        request = exchange.request if exchange else None
        return self._normalise(bounded_json.reformat(request.body)) if request else ""

    def calls(self, exchange: Exchange | None) -> str:
        return self._normalise(bounded_json.dumps(exchange.calls)) if exchange else ""

    def reply(self, exchange: Exchange | None) -> str:
        reply = exchange.reply if exchange else None
        if exchange is None or reply is None:
            return exchange.error if exchange else ""
        return self._normalise(f"HTTP {reply.status}\n{bounded_json.reformat(reply.text)}")

    def _normalise(self, text: str) -> str:
        return text if self.is_raw else normalise.normalise_text(text, self.value_names)


def _diff_step(
    one: Exchange | None, other: Exchange | None, left: _SideTexts, right: _SideTexts
) -> StepDiff:
    either = other or one
    assert either is not None
    return StepDiff(
        label=visible(clip(either.label, 300)),
        only_side="good" if other is None else "this" if one is None else "",
        calls=diff_texts(left.calls(one), right.calls(other)),
        request=diff_texts(left.request(one), right.request(other)),
        reply=diff_texts(left.reply(one), right.reply(other)),
    )


def _pair_exchanges(
    before: list[Exchange], now: list[Exchange]
) -> list[tuple[Exchange | None, Exchange | None]]:
    """Pair exchanges by label in the order of the newer side; those only before come last."""
    unmatched = list(before)
    pairs: list[tuple[Exchange | None, Exchange | None]] = []
    for exchange in now:
        match = next(
            (candidate for candidate in unmatched if candidate.label == exchange.label), None
        )
        if match is not None:
            unmatched.remove(match)
        pairs.append((match, exchange))
    return [*pairs, *((candidate, None) for candidate in unmatched)]
