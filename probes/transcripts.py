"""A run as a file that can be replayed offline: its requests, and the bytes of the answers.

A replay runs the scripts of the suite again; each question gets its recorded answer. Requests,
parsed answers and verdicts must equal the recording. Only our own code can change, so a difference
is a regression. Evidence is redacted before it is recorded.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from probes.adapters import adapter_for
from probes.adapters.base import Adapter
from probes.dialects import at_base_url, dialect_for
from probes.error_judge import judge_error
from probes.errors import ProbesError, TargetError
from probes.exchange import as_answer, read_reply
from probes.messages import JSON
from probes.outcomes import LIMIT_FACT, Attempt, Metric
from probes.recorded_exchange import (
    RecordedExchange,
    as_plain_json,
    from_evidence,
    from_json,
    summarise_reading,
)
from probes.redaction import Redactor
from probes.suite import PROBES, SUITE_VERSION, Trial, is_streamed
from probes.suite.base import Answer, Judgement, Probe, Question, Script, rng_for
from probes.suite.question_builder import QuestionBuilder
from probes.target import ProfileKey, Provider, Target

VERSION = 1
MAX_SHOWN = 200


@dataclass(frozen=True, slots=True)
class ReplayedAttempt:
    """One recorded attempt, and the difference in words; "" if there is none.

    A recording without a complete answer (a cut connection) is not playable.
    """

    attempt: str
    difference: str = ""
    playable: bool = True


def write_transcript(
    target: Target, attempts: Sequence[Attempt], key: ProfileKey, *, seed: str
) -> str:
    """The run as JSON lines: a head, then one line per attempt."""
    head: dict[str, JSON] = {
        "transcript": VERSION,
        "suite": SUITE_VERSION,
        "key": key.as_json(),
        "options": Redactor(target.key).json(dict(target.options)),
        "dialect": target.dialect,
        "seed": seed,
        "attempts": len(attempts),
    }
    transcript = _Transcript.from_head(head, adapter_for)
    lines = [head, *(transcript.attempt_line(attempt) for attempt in attempts)]
    return "".join(json.dumps(line, ensure_ascii=True, sort_keys=True) + "\n" for line in lines)


def replay_transcript(
    lines: Iterable[str],
    *,
    probes: Mapping[str, Probe] = PROBES,
    adapters: Callable[[Provider], Adapter] = adapter_for,
) -> Iterator[ReplayedAttempt]:
    """Replay every recorded attempt; raises TargetError if this is no transcript."""
    rest = iter(lines)
    head = _parse_line(next(rest, ""), 1)
    transcript = _Transcript.from_head(head, adapters)
    number = 1
    for number, line in enumerate(rest, 2):
        entry = _parse_line(line, number)
        probe, trial = entry.get("probe"), entry.get("trial")
        if not isinstance(probe, str) or probe not in probes or not isinstance(trial, int):
            raise TargetError(f"Line {number} is no attempt of the suite {SUITE_VERSION}.")
        yield transcript.replay(probes[probe], trial, entry)
    if number - 1 != head.get("attempts"):
        raise TargetError(f"It holds {number - 1} of {head.get('attempts')} attempts.")


class _Mismatch(Exception):
    """The script asks something else than in the recording."""


@dataclass(frozen=True, slots=True)
class _Transcript:
    """The head of a transcript: the endpoint that was recorded."""

    builder: QuestionBuilder
    adapter: Adapter
    seed: str

    @classmethod
    def from_head(
        cls, head: Mapping[str, JSON], adapters: Callable[[Provider], Adapter]
    ) -> _Transcript:
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
        dialect = dialect_for(provider, str(head.get("dialect") or ""))
        builder = QuestionBuilder(
            str(key.get("model")),
            at_base_url(dialect, str(key.get("endpoint"))),
            adapter.format,
            dict(options) if isinstance(options, Mapping) else {},
        )
        return cls(builder, adapter, str(head.get("seed")))

    def attempt_line(self, attempt: Attempt) -> dict[str, JSON]:
        """An attempt as a line, with what is read in its answers when it is replayed at once."""
        exchanges = [from_evidence(exchange) for exchange in attempt.evidence.exchanges]
        facts = {name: fact for name, fact in attempt.facts.items() if name != LIMIT_FACT}
        judgement = Judgement(attempt.outcome, attempt.findings, attempt.verdicts, facts)
        summary, attempt_replay = _summary(judgement), _AttemptReplay(self.adapter, list(exchanges))
        try:
            replayed = self._run_script(attempt_replay, PROBES[attempt.probe], attempt.trial)
            playable = bool(exchanges) and _summary(replayed) == summary
        except _Mismatch:
            playable = False
        reads = [*attempt_replay.reads, *[None] * len(exchanges)]
        recorded = [e.with_read(read) for e, read in zip(exchanges, reads, strict=False)]
        return {
            "probe": attempt.probe,
            "trial": attempt.trial,
            "playable": playable,
            "exchanges": [exchange.as_json() for exchange in recorded],
            **summary,
        }

    def replay(self, probe: Probe, trial: int, entry: Mapping[str, JSON]) -> ReplayedAttempt:
        """Replay one line."""
        name = f"{probe.name}/{trial}"
        if entry.get("playable") is not True:
            return ReplayedAttempt(name, playable=False)
        try:
            return ReplayedAttempt(name, self._difference(probe, trial, entry))
        except (_Mismatch, TargetError) as exc:
            return ReplayedAttempt(name, str(exc))

    def _difference(self, probe: Probe, trial: int, entry: Mapping[str, JSON]) -> str:
        stored = entry.get("exchanges")
        exchanges = [from_json(item) for item in stored] if isinstance(stored, list) else []
        attempt_replay = _AttemptReplay(self.adapter, list(exchanges))
        judgement = self._run_script(attempt_replay, probe, trial)
        for exchange, read in zip(exchanges, attempt_replay.reads, strict=False):
            if difference := _first_difference(exchange.read, read):
                return f"In the answer {exchange.label!r} {difference}"
        return _first_difference(
            {name: entry.get(name) for name in _COMPARED_FIELDS}, _summary(judgement)
        )

    def _run_script(self, attempt_replay: _AttemptReplay, probe: Probe, trial: int) -> Judgement:
        values = probe.draw(rng_for(self.seed, probe.name, trial))
        streamed = is_streamed(Trial(probe.name, trial), self.seed)
        script = probe.script(values, replace(self.builder, stream=streamed))
        return attempt_replay.run(script, probe.refusal_metrics)


@dataclass
class _AttemptReplay:
    """One attempt that is replayed against its recording."""

    adapter: Adapter
    remaining: list[RecordedExchange]
    reads: list[JSON] = field(default_factory=list)

    def run(self, script: Script, refusal_metrics: tuple[Metric, ...]) -> Judgement:
        is_first = len(self.remaining) <= 1
        try:
            questions = next(script)
            while True:
                questions = script.send([self._answer(question) for question in questions])
        except StopIteration as stop:
            if self.remaining:
                raise _Mismatch(f"It no longer asks {self.remaining[0].label!r}.") from None
            judgement: Judgement = stop.value
            return judgement
        except ProbesError as exc:
            return judge_error(exc, refusal_metrics if is_first else ())
        finally:
            script.close()

    def _answer(self, question: Question) -> Answer:
        if not self.remaining:
            raise _Mismatch(f"It asks {question.label!r}, where the recording ends.")
        recorded = self.remaining.pop(0)
        request = as_plain_json(self.adapter.write_request(question.call))
        if request != recorded.request:
            difference = _first_difference(recorded.request, request)
            raise _Mismatch(f"In the request {question.label!r} {difference}")
        if recorded.incoming is None:
            raise _Mismatch(f"The answer {recorded.label!r} was not recorded.")
        try:
            streamed = question.call.stream
            answer = Answer(read_reply(self.adapter, recorded.incoming, streamed=streamed))
        except ProbesError as exc:
            expected = as_answer(exc, question)
            if expected is None:
                self.reads.append(summarise_reading(exc))
                raise
            answer = expected
        self.reads.append(summarise_reading(answer))
        return answer


_COMPARED_FIELDS = ("outcome", "findings", "verdicts", "facts")


def _summary(judgement: Judgement) -> dict[str, JSON]:
    """The fields that a recording and its replay are compared by; without availability."""
    verdicts = [v for v in judgement.verdicts if v.metric is not Metric.AVAILABILITY]
    return {
        "outcome": str(judgement.outcome),
        "findings": [str(finding.kind) for finding in judgement.findings],
        "verdicts": [verdict.as_json() for verdict in verdicts],
        "facts": as_plain_json(dict(judgement.facts)),
    }


def _first_difference(before: JSON, now: JSON) -> str:
    """The first field that differs, in words; "" if none does."""
    if before == now:
        return ""
    if not isinstance(before, Mapping) or not isinstance(now, Mapping):
        return f"{_shorten(before)} became {_shorten(now)}."
    names = [*before, *(name for name in now if name not in before)]
    name = next(name for name in names if before.get(name, ...) != now.get(name, ...))
    return f"{name} was {_shorten(before.get(name))} and is {_shorten(now.get(name))}."


def _shorten(value: JSON) -> str:
    text = json.dumps(value)
    return text if len(text) <= MAX_SHOWN else f"{text[:MAX_SHOWN]}…"


def _parse_line(line: str, number: int) -> Mapping[str, JSON]:
    try:
        value: JSON = json.loads(line)
    except (ValueError, RecursionError) as exc:
        raise TargetError(f"Line {number} of the transcript is not JSON.") from exc
    if not isinstance(value, Mapping):
        raise TargetError(f"Line {number} of the transcript is not an object.")
    return value
