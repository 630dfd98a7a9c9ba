"""A run as a file that can be run again offline: the questions asked and the bytes that came back.

The scripts of the suite are asked once more; each question gets the answer that was recorded for
it. Requests, what is read in the answers, and verdicts must be those of the recording. What
changes is our own code, so a difference is a regression of ours. Evidence is redacted before it
gets here.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from probes.adapters import adapter_for
from probes.adapters.base import Adapter
from probes.dialects import DIALECTS
from probes.error_judge import judge_error
from probes.errors import ProbesError, Refused, TargetError
from probes.exchange import read_reply
from probes.messages import JSON
from probes.outcomes import Attempt, Metric
from probes.recorded_exchange import (
    RecordedExchange,
    as_plain_json,
    from_evidence,
    from_json,
    summarise_reading,
)
from probes.redaction import Redactor
from probes.suite import PROBES, SUITE_VERSION
from probes.suite.base import Answer, Judgement, Probe, Question, Script, rng_for
from probes.suite.question_builder import QuestionBuilder
from probes.target import ProfileKey, Provider, Target

VERSION = 1
MAX_SHOWN = 200


@dataclass(frozen=True, slots=True)
class ReplayedAttempt:
    """One recorded attempt, and what is different now in words; "" where nothing is.

    Where the recording has no whole answer (a cut connection), nothing could be played.
    """

    attempt: str
    difference: str = ""
    playable: bool = True


def write_transcript(
    target: Target, attempts: Sequence[Attempt], key: ProfileKey, *, seed: str
) -> str:
    """The run as JSON lines: a head, then one line an attempt."""
    head: dict[str, JSON] = {
        "transcript": VERSION,
        "suite": SUITE_VERSION,
        "key": key.as_json(),
        "options": Redactor(target.key).json(dict(target.options)),
        "seed": seed,
        "attempts": len(attempts),
    }
    tape = _Transcript.of(head, adapter_for)
    lines = [head, *(tape.line(attempt) for attempt in attempts)]
    return "".join(json.dumps(line, ensure_ascii=True, sort_keys=True) + "\n" for line in lines)


def replay_transcript(
    lines: Iterable[str],
    *,
    probes: Mapping[str, Probe] = PROBES,
    adapters: Callable[[Provider], Adapter] = adapter_for,
) -> Iterator[ReplayedAttempt]:
    """Every recorded attempt, played again; raises TargetError on what is no transcript."""
    rest = iter(lines)
    head = _object(next(rest, ""), 1)
    tape = _Transcript.of(head, adapters)
    number = 1
    for number, line in enumerate(rest, 2):
        entry = _object(line, number)
        probe, trial = entry.get("probe"), entry.get("trial")
        if not isinstance(probe, str) or probe not in probes or not isinstance(trial, int):
            raise TargetError(f"Line {number} is no attempt of the suite {SUITE_VERSION}.")
        yield tape.played(probes[probe], trial, entry)
    if number - 1 != head.get("attempts"):
        raise TargetError(f"It holds {number - 1} of {head.get('attempts')} attempts.")


class _Mismatch(Exception):
    """The script asks something else than it did when the tape was recorded."""


@dataclass(frozen=True, slots=True)
class _Transcript:
    """The head of a transcript: whom it talked to."""

    builder: QuestionBuilder
    adapter: Adapter
    seed: str

    @classmethod
    def of(cls, head: Mapping[str, JSON], adapters: Callable[[Provider], Adapter]) -> _Transcript:
        key, options = head.get("key"), head.get("options")
        if head.get("transcript") != VERSION or not isinstance(key, Mapping):
            raise TargetError("Line 1 is not the head of a transcript.")
        if head.get("suite") != SUITE_VERSION:
            message = f"It was recorded with the suite {head.get('suite')}, not {SUITE_VERSION}."
            raise TargetError(f"{message} Record it anew.")
        try:
            provider = Provider(str(key.get("provider")))
        except ValueError as exc:
            raise TargetError(f"There is no provider {key.get('provider')!r}.") from exc
        adapter = adapters(provider)
        request_options = dict(options) if isinstance(options, Mapping) else {}
        builder = QuestionBuilder(
            str(key.get("model")), DIALECTS[provider], adapter.format, request_options
        )
        return cls(builder, adapter, str(head.get("seed")))

    def line(self, attempt: Attempt) -> dict[str, JSON]:
        """An attempt as a line, with what is read in its answers when it is played at once."""
        exchanges = [from_evidence(exchange) for exchange in attempt.evidence.exchanges]
        judged = Judgement(attempt.outcome, attempt.findings, attempt.verdicts, attempt.facts)
        summary, playing = _summary(judged), _AttemptReplay(self.adapter, list(exchanges))
        try:
            again = self._judged(playing, PROBES[attempt.probe], attempt.trial)
            playable = bool(exchanges) and _summary(again) == summary
        except _Mismatch:
            playable = False
        reads = [*playing.reads, *[None] * len(exchanges)]
        recorded = [e.with_read(read) for e, read in zip(exchanges, reads, strict=False)]
        return {
            "probe": attempt.probe,
            "trial": attempt.trial,
            "playable": playable,
            "exchanges": [exchange.as_json() for exchange in recorded],
            **summary,
        }

    def played(self, probe: Probe, trial: int, entry: Mapping[str, JSON]) -> ReplayedAttempt:
        """A line, played again."""
        name = f"{probe.name}/{trial}"
        if entry.get("playable") is not True:
            return ReplayedAttempt(name, playable=False)
        try:
            return ReplayedAttempt(name, self._difference(probe, trial, entry))
        except (_Mismatch, TargetError) as exc:
            return ReplayedAttempt(name, str(exc))

    def _difference(self, probe: Probe, trial: int, entry: Mapping[str, JSON]) -> str:
        listed = entry.get("exchanges")
        exchanges = [from_json(item) for item in listed] if isinstance(listed, list) else []
        playing = _AttemptReplay(self.adapter, list(exchanges))
        judged = self._judged(playing, probe, trial)
        for exchange, read in zip(exchanges, playing.reads, strict=False):
            if difference := _first_difference(exchange.read, read):
                return f"In the answer {exchange.label!r} {difference}"
        return _first_difference({name: entry.get(name) for name in _SUMMED}, _summary(judged))

    def _judged(self, playing: _AttemptReplay, probe: Probe, trial: int) -> Judgement:
        drawn = probe.draw(rng_for(self.seed, probe.name, trial))
        return playing.judged(probe.script(drawn, self.builder), probe.owes)


@dataclass
class _AttemptReplay:
    """One attempt on its way through a recording."""

    adapter: Adapter
    left: list[RecordedExchange]
    reads: list[JSON] = field(default_factory=list)

    def judged(self, script: Script, owes: tuple[Metric, ...]) -> Judgement:
        alone = len(self.left) <= 1
        try:
            questions = next(script)
            while True:
                questions = script.send([self._answer(question) for question in questions])
        except StopIteration as stop:
            if self.left:
                raise _Mismatch(f"It no longer asks {self.left[0].label!r}.") from None
            judged: Judgement = stop.value
            return judged
        except ProbesError as exc:
            return judge_error(exc, owes if alone else ())
        finally:
            script.close()

    def _answer(self, question: Question) -> Answer:
        if not self.left:
            raise _Mismatch(f"It asks {question.label!r}, where the recording ends.")
        recorded = self.left.pop(0)
        request = as_plain_json(self.adapter.write_request(question.call))
        if request != recorded.request:
            difference = _first_difference(recorded.request, request)
            raise _Mismatch(f"In the request {question.label!r} {difference}")
        if recorded.incoming is None:
            raise _Mismatch(f"The answer {recorded.label!r} was not recorded.")
        try:
            streamed = question.call.stream
            answer = Answer(read_reply(self.adapter, recorded.incoming, streamed=streamed))
        except Refused as exc:
            answer = Answer(refusal=exc)
        except ProbesError as exc:
            self.reads.append(summarise_reading(exc))
            raise
        self.reads.append(summarise_reading(answer))
        return answer


_SUMMED = ("outcome", "findings", "verdicts", "facts")


def _summary(judged: Judgement) -> dict[str, JSON]:
    """What a recording and its repetition are compared by. Availability is not in the tape."""
    counted = [v for v in judged.verdicts if v.metric is not Metric.AVAILABILITY]
    return {
        "outcome": str(judged.outcome),
        "findings": [str(finding.kind) for finding in judged.findings],
        "verdicts": [verdict.as_json() for verdict in counted],
        "facts": as_plain_json(dict(judged.facts)),
    }


def _first_difference(before: JSON, now: JSON) -> str:
    """The first field that differs, in words; "" where none does."""
    if before == now:
        return ""
    if not isinstance(before, Mapping) or not isinstance(now, Mapping):
        return f"{_shown(before)} became {_shown(now)}."
    names = [*before, *(name for name in now if name not in before)]
    name = next(name for name in names if before.get(name, ...) != now.get(name, ...))
    return f"{name} was {_shown(before.get(name))} and is {_shown(now.get(name))}."


def _shown(value: JSON) -> str:
    text = json.dumps(value)
    return text if len(text) <= MAX_SHOWN else f"{text[:MAX_SHOWN]}…"


def _object(line: str, number: int) -> Mapping[str, JSON]:
    try:
        value: JSON = json.loads(line)
    except (ValueError, RecursionError) as exc:
        raise TargetError(f"Line {number} of the transcript is not JSON.") from exc
    if not isinstance(value, Mapping):
        raise TargetError(f"Line {number} of the transcript is not an object.")
    return value
