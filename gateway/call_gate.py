"""Lets text through at once, and calls only when they are whole, valid, and allowed.

A call that is cut, unreadable or invalid ends the answer with an error that the client
understands. A call that the policy does not allow becomes a sentence to the person.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from gateway.plan import Plan
from gateway.simple_schemas import SimpleSchemas
from gateway.tool_access import may_run
from probes.call_arguments import call_argument_text
from probes.events import (
    Event,
    PartDelta,
    PartEnded,
    PartKind,
    PartStarted,
    ReplyEnded,
    ReplyStarted,
)
from probes.messages import (
    BrokenCall,
    ErrorKind,
    Part,
    Reply,
    ReplyError,
    Stop,
    Text,
    ToolCall,
    ToolChoice,
    ToolSpec,
)
from probes.resolve.call import resolve_json_call


@dataclass(frozen=True, slots=True)
class BlockedCall:
    """A call that did not reach the client, and why."""

    name: str
    kind: str
    message: str


@dataclass
class CallGate:
    """Filters the events of one reply. Parts are numbered anew, as far as they pass."""

    plan: Plan
    tools: tuple[ToolSpec, ...]
    choice: ToolChoice | None = None
    schemas: SimpleSchemas = field(default_factory=SimpleSchemas)
    passed: list[ToolCall] = field(default_factory=list)
    blocked: list[BlockedCall] = field(default_factory=list)
    surplus: int = 0
    repaired: int = 0
    failure: str = ""
    misses_choice: bool = False
    _parts: list[Part] = field(default_factory=list)
    _places: dict[int, int] = field(default_factory=dict)
    _held: set[int] = field(default_factory=set)

    def pass_events(self, events: Iterable[Event]) -> list[Event]:
        passed: list[Event] = []
        for event in events:
            passed += self._pass(event)
        return passed

    def _pass(self, event: Event) -> list[Event]:
        match event:
            case PartStarted(kind=PartKind.CALL):
                self._held.add(event.index)
                return []
            case PartStarted():
                self._places[event.index] = len(self._parts)
                self._parts.append(Text(""))
                return [replace(event, index=self._places[event.index])]
            case PartDelta():
                return [] if event.index in self._held else [self._moved(event)]
            case PartEnded():
                return self._end_part(event)
            case ReplyEnded():
                return self._end_reply(event.reply)
            case ReplyStarted():
                return [event]

    def _moved(self, event: PartDelta) -> PartDelta:
        return replace(event, index=self._places[event.index])

    def _end_part(self, event: PartEnded) -> list[Event]:
        if event.index not in self._held:
            place = self._places[event.index]
            self._parts[place] = event.part
            return [replace(event, index=place)]
        match event.part:
            case ToolCall() as call:
                return self._judge(call)
            case BrokenCall() as broken:
                return self._block(broken.name, str(broken.kind), broken.error)
            case _:
                return []

    def _judge(self, call: ToolCall) -> list[Event]:
        resolved = self._resolve(call)
        if isinstance(resolved, BrokenCall):
            return self._block(call.name, str(resolved.kind), resolved.error)
        if resolved.repairs and not self.plan.repairs_allowed:
            message = "Its arguments would have to be repaired, which the policy does not allow."
            return self._block(call.name, "repair_not_allowed", message)
        if not may_run(resolved, self.plan):
            return self._withhold(resolved)
        if len(self.passed) >= self.plan.max_calls:
            self.surplus += 1
            return []
        self.repaired += bool(resolved.repairs)
        self.passed.append(resolved)
        return self._add(resolved)

    def _resolve(self, call: ToolCall) -> ToolCall | BrokenCall:
        call = self.schemas.restore(call)
        text = call_argument_text(call)
        resolved = resolve_json_call(
            text,
            name=call.name,
            id=call.id,
            format=call.format,
            tools=self.tools,
            repair=self.plan.repairs_allowed,
        )
        if isinstance(resolved, BrokenCall):
            return resolved
        repairs = tuple(dict.fromkeys((*call.repairs, *resolved.repairs)))
        return replace(call, name=resolved.name, input=resolved.input, repairs=repairs)

    def _withhold(self, call: ToolCall) -> list[Event]:
        message = f"The call of {call.name} was blocked. {self.plan.reason}"
        self.blocked.append(BlockedCall(call.name, "not_allowed", message))
        return self._add(Text(f"[{message}]"))

    def _block(self, name: str, kind: str, message: str) -> list[Event]:
        self.blocked.append(BlockedCall(name, kind, message))
        self.failure = self.failure or f"The model's call of {name[:64]!r} is not valid: {message}"
        return []

    def _add(self, part: Part) -> list[Event]:
        place = len(self._parts)
        self._parts.append(part)
        match part:
            case ToolCall():
                text = call_argument_text(part)
                started = PartStarted(place, PartKind.CALL, part.id, part.name)
            case Text():
                text, started = part.text, PartStarted(place, PartKind.TEXT)
            case _:
                return []
        return [started, PartDelta(place, text), PartEnded(place, part)]

    def _end_reply(self, reply: Reply) -> list[Event]:
        parts = tuple(self._parts)
        if reply.stop is Stop.ERROR:
            return [ReplyEnded(replace(reply, parts=parts))]
        missing = self._missing_choice(reply)
        self.misses_choice = bool(missing)
        failure = self.failure or missing
        if failure:
            self.failure = failure
            return [ReplyEnded(failed_reply(replace(reply, parts=parts), failure))]
        stop = reply.stop
        if self.passed:
            stop = Stop.TOOL_CALLS
        elif stop is Stop.TOOL_CALLS:
            stop = Stop.END
        return [ReplyEnded(replace(reply, parts=parts, stop=stop))]

    def _missing_choice(self, reply: Reply) -> str:
        """The failure of a reply without the call that the client requires."""
        if self.choice is None or self.blocked or reply.stop in (Stop.LENGTH, Stop.REFUSAL):
            return ""
        names = {call.name for call in self.passed}
        if self.choice.mode == "required" and not names:
            return "The model made no call although one was required."
        if self.choice.mode == "named" and self.choice.name not in names:
            return f"The model did not call {self.choice.name!r} although that was required."
        return ""


def failed_reply(reply: Reply, message: str) -> Reply:
    """The reply as one that broke off, with the reason."""
    return replace(reply, stop=Stop.ERROR, error=ReplyError(ErrorKind.SERVER, message))
