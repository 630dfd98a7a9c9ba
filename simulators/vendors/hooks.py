"""Where a vendor can be made to go wrong: every stage of an answer, from the door to the wire."""

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
    from simulators.vendors.spec import Asked, Spec


class End(StrEnum):
    """How an answer's bytes end."""

    CLEAN = "clean"
    CUT = "cut"  # the connection breaks off
    HANG = "hang"  # nothing more comes, and the connection stays open
    ENDLESS = "endless"  # the last chunk is repeated for ever


@dataclass(frozen=True, slots=True)
class Sending:
    """An answer on its way out. Waits are in seconds."""

    chunks: Sequence[bytes]
    media_type: str
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    wait: float = 0  # before anything is sent
    think: float = 0  # between the head and the first chunk
    gap: float = 0  # between chunks
    end: End = End.CLEAN


class Bend:
    """Bends nothing. Each stage gets what the stages and bends before it left."""

    def spec(self, spec: Spec) -> Spec:
        """Who serves the request: another model, template, engine or route."""
        return spec

    def door(self, spec: Spec, rng: random.Random) -> Sending | None:
        """An answer that is sent before the request is even read."""
        return None

    def refuse(self, asked: Asked, rng: random.Random) -> None:
        """Raise a Complaint for a request that the vendor would take."""

    def answer(self, answer: Answer, asked: Asked, rng: random.Random) -> Answer:
        """What the model wants to say."""
        return answer

    def reply(self, reply: Reply, asked: Asked, rng: random.Random) -> Reply:
        """The answer as values."""
        return reply

    def body(self, body: Mapping[str, JSON], rng: random.Random) -> Mapping[str, JSON]:
        """The body of a whole answer."""
        return body

    def events(self, events: Sequence[Event], rng: random.Random) -> Sequence[Event]:
        """A streamed answer as parts."""
        return events

    def chunks(self, chunks: Sequence[bytes], rng: random.Random) -> Sequence[bytes]:
        """A streamed answer as the bytes of each sending."""
        return chunks

    def sending(self, sending: Sending, rng: random.Random) -> Sending:
        """The answer as it goes out, whole or streamed."""
        return sending
