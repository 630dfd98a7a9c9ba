"""Faults that change only streams; other answers are unchanged."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from typing_extensions import override

from probes.outcomes import Metric
from simulators.faults.effects import NOTHING
from simulators.faults.fault import Effect, Fault
from simulators.faults.streams.stream_frames import Rewrite, detect_format, read_frames
from simulators.vendors.hooks import FaultHooks
from simulators.vendors.spec import Spec

STREAMING = "supports_streaming_tool_use"
NO_EFFECT = Effect()
# Rates of which streamed turns are a part: they depend on how many turns are streamed.
_SHARED_METRICS = (
    Metric.PARSE_SUCCESS,
    Metric.SCHEMA_FAILURE,
    Metric.UNSAFE_BLOCKED,
    Metric.REPAIR_SUCCESS,
    Metric.PARALLEL_DOWNGRADE,
    Metric.LEAK,
    Metric.RESULT_USE,
    Metric.VALUE_FIDELITY,
)


def stream_effect(value: str, *more: Metric, in_text: Effect | None = None) -> Effect:
    """The effect of a stream that fails in this way, while whole answers are right."""
    metrics: dict[Metric, float | None] = dict.fromkeys((*_SHARED_METRICS, *more))
    metrics[Metric.STREAM_DISAGREEMENT] = 1
    return Effect(metrics, {STREAMING: False, "streaming": value}, in_text=in_text)


LEAKS = stream_effect("leaks", in_text=NOTHING)
LOSES_CALLS = stream_effect("loses_calls", in_text=NOTHING)
NO_CALLS_IN_STREAMS = replace(LOSES_CALLS, bare_reasoning=None)
# Calls in the format of a prompt come in whole answers only.
TALKS = replace(stream_effect("loses_calls"), varying=frozenset({"prompted_tools"}))
GARBLES = stream_effect("garbles", in_text=NOTHING)
REFUSED = stream_effect("refused")
# A stream that never ends properly.
BROKEN_STREAM = stream_effect("loses_calls", Metric.AVAILABILITY)


def _keep_spec(spec: Spec) -> Spec:
    return spec


@dataclass(frozen=True, slots=True)
class StreamRewrite(FaultHooks):
    """Rewrites streams with the rule of their format; formats without a rule are unchanged.

    `change_spec` adapts a server that must also accept its changed answers in a history.
    """

    rules: Mapping[str, Rewrite]
    change_spec: Callable[[Spec], Spec] = _keep_spec

    @override
    def spec(self, spec: Spec) -> Spec:
        return self.change_spec(spec) if spec.format in self.rules else spec

    @override
    def chunks(self, chunks: Sequence[bytes], rng: random.Random) -> Sequence[bytes]:
        frames = read_frames(chunks)
        rule = self.rules.get(detect_format(frames))
        return chunks if rule is None else [frame.write() for frame in rule(frames)]


@dataclass(frozen=True, slots=True)
class StreamFaults:
    """Creates the registry entries of one format."""

    format: str

    def __call__(
        self, name: str, row: str, symptom: str, rule: Rewrite, effect: Effect = NO_EFFECT
    ) -> Fault:
        return self.with_hooks(name, row, symptom, StreamRewrite({self.format: rule}), effect)

    def with_hooks(
        self, name: str, row: str, symptom: str, hooks: FaultHooks, effect: Effect = NO_EFFECT
    ) -> Fault:
        """A fault whose hooks do more than rewrite the stream."""
        return Fault(name, row, symptom, lambda value: hooks, frozenset({self.format}), effect)
