"""The one place where a vendor is made to go wrong: its reply, its events or its bytes."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from typing_extensions import override

from probes.events import Event
from probes.messages import JSON, ModelCall, Part, Reply, Stop, Text, ToolCall
from simulators.mind import PROSE
from simulators.minds.wishes import Wish
from simulators.vendors.models import Model
from simulators.vendors.saying import arguments_text

FADING_SECONDS = 3600
FADING_END = 0.6


class Bend:
    """Bends nothing. Each stage gets what the stages before it left."""

    def reply(self, reply: Reply, call: ModelCall, rng: random.Random) -> Reply:
        """The answer as values."""
        return reply

    def events(self, events: Sequence[Event], rng: random.Random) -> Sequence[Event]:
        """The answer as a stream of parts."""
        return events

    def data(self, chunks: Sequence[bytes], rng: random.Random) -> Sequence[bytes]:
        """The answer as it goes out; one chunk for a whole answer."""
        return chunks


@dataclass
class Slips(Bend):
    """A model's own weaknesses: leaking calls as text, breaking the schema, talking only."""

    models: Mapping[str, Model]
    clock: Callable[[], float] = time.monotonic
    started: float = field(init=False)

    def __post_init__(self) -> None:
        self.started = self.clock()

    @override
    def reply(self, reply: Reply, call: ModelCall, rng: random.Random) -> Reply:
        model = self.models.get(call.model)
        if model is None or not reply.calls:
            return reply
        if model.only_prose:
            return _said(reply, PROSE)
        if rng.random() < self._leak_share(model):
            tools = {tool.name: tool for tool in call.tools}
            wishes = [Wish(tools[made.name], made.input) for made in reply.calls]
            return _said(reply, "\n".join(wish.as_text for wish in wishes))
        if rng.random() < model.breaks_schema:
            return replace(reply, parts=tuple(_misused(part, call) for part in reply.parts))
        return reply

    def _leak_share(self, model: Model) -> float:
        if not model.fades:
            return model.leaks
        age = (self.clock() - self.started) / FADING_SECONDS
        return FADING_END * min(age, 1)


def _said(reply: Reply, text: str) -> Reply:
    parts = tuple(part for part in reply.parts if not isinstance(part, ToolCall))
    return replace(reply, parts=(*parts, Text(text)), stop=Stop.END)


def _misused(part: Part, call: ModelCall) -> Part:
    """The same call with one argument that its schema forbids."""
    if not isinstance(part, ToolCall):
        return part
    schema = next((tool.schema for tool in call.tools if tool.name == part.name), None) or {}
    rules = schema.get("properties")
    for name, rule in rules.items() if isinstance(rules, Mapping) else ():
        if isinstance(rule, Mapping) and "enum" in rule:
            return _with_input(part, {**part.input, name: "gamma-ish"})
    return _with_input(part, dict.fromkeys(part.input, None))


def _with_input(call: ToolCall, arguments: Mapping[str, JSON]) -> ToolCall:
    return replace(call, input=arguments, raw=arguments_text(arguments))
