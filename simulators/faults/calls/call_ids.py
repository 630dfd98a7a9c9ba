"""Ids of calls as servers give them: none, one for all, too long, of odd characters, reused."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count

from typing_extensions import override

from probes.messages import JSON, Reply, ToolCall
from simulators.faults.fault import Fault
from simulators.vendors.hooks import FaultHooks
from simulators.vendors.reply_style import ALPHANUMERIC, HEX
from simulators.vendors.spec import VendorRequest

LONG = 96
# A call, its place among the calls of the reply, and the dice.
Naming = Callable[[ToolCall, int, random.Random], str]
CONSTANT = "call_00000000"
# What a model says for a tool is nobody's id.
ARGUMENTS = ("arguments", "args", "input")


@dataclass(frozen=True, slots=True)
class IdChange(FaultHooks):
    """Calls get other ids."""

    name: Naming

    @override
    def reply(self, reply: Reply, request: VendorRequest, rng: random.Random) -> Reply:
        places = count()
        parts = tuple(
            replace(part, id=self.name(part, next(places), rng))
            if isinstance(part, ToolCall)
            else part
            for part in reply.parts
        )
        return replace(reply, parts=parts)


class SameId(FaultHooks):
    """All calls of a reply get the id of the first."""

    @override
    def reply(self, reply: Reply, request: VendorRequest, rng: random.Random) -> Reply:
        first = reply.calls[0].id if reply.calls else ""
        parts = tuple(
            replace(part, id=first) if isinstance(part, ToolCall) else part for part in reply.parts
        )
        return replace(reply, parts=parts)


class NoIds(FaultHooks):
    """The fields in which ids of calls stand are left out."""

    @override
    def body(self, body: Mapping[str, JSON], rng: random.Random) -> Mapping[str, JSON]:
        bare = _bare(body)
        assert isinstance(bare, Mapping)
        return bare

    @override
    def chunks(self, chunks: Sequence[bytes], rng: random.Random) -> Sequence[bytes]:
        return [b"\n".join(map(_bare_line, chunk.split(b"\n"))) for chunk in chunks]


def _bare_line(line: bytes) -> bytes:
    """A line of a stream without ids; what is no JSON object stays as it is."""
    head = b"data: " if line.startswith(b"data: ") else b""
    try:
        value = json.loads(line.removeprefix(head))
    except ValueError:
        return line
    return head + json.dumps(_bare(value)).encode()


def _bare(value: JSON) -> JSON:
    if isinstance(value, Mapping):
        dropped = _id_field(value)
        kept = {key: inner for key, inner in value.items() if key != dropped}
        return {key: inner if key in ARGUMENTS else _bare(inner) for key, inner in kept.items()}
    if isinstance(value, list):
        return [_bare(inner) for inner in value]
    return value


def _id_field(entry: Mapping[str, JSON]) -> str:
    """The field that holds the id of a call, in any format, where the object is a call."""
    if entry.get("type") == "function_call":
        return "call_id"
    is_call = entry.get("type") == "tool_use" or "function" in entry or _is_gemini(entry)
    return "id" if is_call else ""


def _is_gemini(entry: Mapping[str, JSON]) -> bool:
    return "args" in entry and "name" in entry


def _long(call: ToolCall, index: int, rng: random.Random) -> str:
    return call.id + "".join(rng.choices(ALPHANUMERIC, k=LONG - len(call.id)))


def _odd(call: ToolCall, index: int, rng: random.Random) -> str:
    return f"{call.id}|fc_{''.join(rng.choices(HEX, k=8))}:{index}"


def _numbered(call: ToolCall, index: int, rng: random.Random) -> str:
    return f"functions.{call.name}:{index}"


def _constant(call: ToolCall, index: int, rng: random.Random) -> str:
    return CONSTANT


def _fault(name: str, row: str, shows: str, hooks: FaultHooks) -> Fault:
    return Fault(name, row, shows, lambda value: hooks)


FAULTS = (
    _fault("no-ids", "", "calls come without an id", NoIds()),
    _fault("same-id", "Z43", "all calls of an answer have one id", SameId()),
    _fault("constant-id", "Z43", "every call of every answer has one id", IdChange(_constant)),
    _fault("long-ids", "", f"ids of {LONG} characters", IdChange(_long)),
    _fault("odd-ids", "", "ids with | and : in them", IdChange(_odd)),
    _fault(
        "numbered-ids",
        "Z43",
        "ids of the form functions.NAME:0, counted anew in every answer",
        IdChange(_numbered),
    ),
)
