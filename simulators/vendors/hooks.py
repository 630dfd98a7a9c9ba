"""Hooks through which faults change an answer, one per stage from request to bytes."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

from probes.events import Event
from probes.messages import JSON, Reply
from simulators.model.answers import Answer

if TYPE_CHECKING:
    from simulators.vendors.spec import Spec, VendorRequest


class AnswerEnd(StrEnum):
    """How an answer's bytes end."""

    CLEAN = "clean"
    CUT = "cut"  # the connection breaks off
    HANG = "hang"  # nothing more comes, and the connection stays open
    ENDLESS = "endless"  # the last chunk is repeated forever


@dataclass(frozen=True, slots=True)
class OutgoingAnswer:
    """An answer on its way out. Waits are in seconds."""

    chunks: Sequence[bytes]
    media_type: str
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    wait: float = 0  # before anything is sent
    think: float = 0  # between the head and the first chunk
    gap: float = 0  # between chunks
    end: AnswerEnd = AnswerEnd.CLEAN


class FaultHooks:
    """Hooks that change nothing. Each gets the result of the stages and hooks before it."""

    def spec(self, spec: Spec) -> Spec:
        """Change the vendor: another model, template, engine or route."""
        return spec

    def early_answer(self, spec: Spec, rng: random.Random) -> OutgoingAnswer | None:
        """Return an answer that is sent before the request is read."""
        return None

    def refuse(self, request: VendorRequest, rng: random.Random) -> None:
        """Raise RequestRefused for a request that the vendor would accept."""

    def answer(self, answer: Answer, request: VendorRequest, rng: random.Random) -> Answer:
        """Change the model's answer."""
        return answer

    def reply(self, reply: Reply, request: VendorRequest, rng: random.Random) -> Reply:
        """Change the answer as a Reply."""
        return reply

    def body(self, body: Mapping[str, JSON], rng: random.Random) -> Mapping[str, JSON]:
        """Change the JSON body of an answer that is not streamed."""
        return body

    def events(self, events: Sequence[Event], rng: random.Random) -> Sequence[Event]:
        """Change the events of a streamed answer."""
        return events

    def chunks(self, chunks: Sequence[bytes], rng: random.Random) -> Sequence[bytes]:
        """Change the byte chunks of a streamed answer."""
        return chunks

    def outgoing(self, outgoing: OutgoingAnswer, rng: random.Random) -> OutgoingAnswer:
        """Change status, headers, timing or bytes of any answer."""
        return outgoing
