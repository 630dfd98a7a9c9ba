"""Faults that change streams only; answers that are not streamed stay as they are."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from typing_extensions import override

from probes.outcomes import Metric
from simulators.faults.fault import Effect, Fault
from simulators.faults.streams.stream_frames import Rewrite, detect_format, read_frames
from simulators.vendors.hooks import FaultHooks
from simulators.vendors.spec import Spec

STREAMING = "supports_streaming_tool_use"
UNDERSTOOD = Effect()
LOSES = Effect({Metric.STREAM_DISAGREEMENT: 1}, {STREAMING: False})
# A stream that never ends well says nothing about calls, for or against.
NO_VERDICT = Effect({Metric.AVAILABILITY: None}, {STREAMING: None})


def _same(spec: Spec) -> Spec:
    return spec


@dataclass(frozen=True, slots=True)
class StreamRewrite(FaultHooks):
    """Streams are rewritten, each by the rule of its format; formats without one stay as they are.

    `serves` changes who serves, for a server that must also take back what it now sends.
    """

    rules: Mapping[str, Rewrite]
    serves: Callable[[Spec], Spec] = _same

    @override
    def spec(self, spec: Spec) -> Spec:
        return self.serves(spec) if spec.format in self.rules else spec

    @override
    def chunks(self, chunks: Sequence[bytes], rng: random.Random) -> Sequence[bytes]:
        frames = read_frames(chunks)
        rule = self.rules.get(detect_format(frames))
        return chunks if rule is None else [frame.write() for frame in rule(frames)]


@dataclass(frozen=True, slots=True)
class StreamFaults:
    """Writes the entries of one format."""

    format: str

    def __call__(
        self, name: str, row: str, shows: str, rule: Rewrite, effect: Effect = UNDERSTOOD
    ) -> Fault:
        return self.with_hooks(name, row, shows, StreamRewrite({self.format: rule}), effect)

    def with_hooks(
        self, name: str, row: str, shows: str, hooks: FaultHooks, effect: Effect = UNDERSTOOD
    ) -> Fault:
        """A fault whose hooks do more than rewrite the stream."""
        return Fault(name, row, shows, lambda value: hooks, frozenset({self.format}), effect)
