"""Faulty call ids of servers: missing, shared, too long, with odd characters, reused."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count

from typing_extensions import override

from probes.messages import JSON, Reply, ToolCall
from simulators.faults.effects import NOTHING, ONE_CALL
from simulators.faults.fault import Effect, Fault
from simulators.vendors.hooks import FaultHooks
from simulators.vendors.reply_style import ALPHANUMERIC, HEX
from simulators.vendors.spec import VendorRequest

LONG_ID_LENGTH = 96
# Makes an id from a call, its position among the reply's calls, and a random generator.
MakeId = Callable[[ToolCall, int, random.Random], str]
CONSTANT = "call_00000000"
# Fields with a call's arguments; an `id` inside them is not a call id.
ARGUMENTS = ("arguments", "args", "input")


@dataclass(frozen=True, slots=True)
class IdChange(FaultHooks):
    """Replaces the ids of calls."""

    make_id: MakeId

    @override
    def reply(self, reply: Reply, request: VendorRequest, rng: random.Random) -> Reply:
        places = count()
        parts = tuple(
            replace(part, id=self.make_id(part, next(places), rng))
            if isinstance(part, ToolCall)
            else part
            for part in reply.parts
        )
        return replace(reply, parts=parts)


class SameId(FaultHooks):
    """Gives all calls of a reply the id of the first."""

    @override
    def reply(self, reply: Reply, request: VendorRequest, rng: random.Random) -> Reply:
        first = reply.calls[0].id if reply.calls else ""
        parts = tuple(
            replace(part, id=first) if isinstance(part, ToolCall) else part for part in reply.parts
        )
        return replace(reply, parts=parts)


class NoIds(FaultHooks):
    """Drops the fields that hold call ids."""

    @override
    def body(self, body: Mapping[str, JSON], rng: random.Random) -> Mapping[str, JSON]:
        bare = _without_ids(body)
        assert isinstance(bare, Mapping)
        return bare

    @override
    def chunks(self, chunks: Sequence[bytes], rng: random.Random) -> Sequence[bytes]:
        return [b"\n".join(map(_line_without_ids, chunk.split(b"\n"))) for chunk in chunks]


def _line_without_ids(line: bytes) -> bytes:
    """A line of a stream without call ids; a line that is not JSON is unchanged."""
    head = b"data: " if line.startswith(b"data: ") else b""
    try:
        value = json.loads(line.removeprefix(head))
    except ValueError:
        return line
    return head + json.dumps(_without_ids(value)).encode()


def _without_ids(value: JSON) -> JSON:
    if isinstance(value, Mapping):
        dropped = _id_field(value)
        kept = {key: inner for key, inner in value.items() if key != dropped}
        return {
            key: inner if key in ARGUMENTS else _without_ids(inner) for key, inner in kept.items()
        }
    if isinstance(value, list):
        return [_without_ids(inner) for inner in value]
    return value


def _id_field(entry: Mapping[str, JSON]) -> str:
    """The field with the call id in any format, or "" if the object is not a call."""
    if entry.get("type") == "function_call":
        return "call_id"
    is_call = entry.get("type") == "tool_use" or "function" in entry or _is_gemini_call(entry)
    return "id" if is_call else ""


def _is_gemini_call(entry: Mapping[str, JSON]) -> bool:
    return "args" in entry and "name" in entry


def _long_id(call: ToolCall, index: int, rng: random.Random) -> str:
    return call.id + "".join(rng.choices(ALPHANUMERIC, k=LONG_ID_LENGTH - len(call.id)))


def _odd_id(call: ToolCall, index: int, rng: random.Random) -> str:
    return f"{call.id}|fc_{''.join(rng.choices(HEX, k=8))}:{index}"


def _numbered_id(call: ToolCall, index: int, rng: random.Random) -> str:
    return f"functions.{call.name}:{index}"


def _constant_id(call: ToolCall, index: int, rng: random.Random) -> str:
    return CONSTANT


# Results cannot be told apart.
_SHARED = Effect(fields=ONE_CALL, in_text=NOTHING)
_NO_EFFECT = Effect()


def _fault(
    name: str, row: str, symptom: str, hooks: FaultHooks, effect: Effect = _NO_EFFECT
) -> Fault:
    return Fault(name, row, symptom, lambda value: hooks, effect=effect)


FAULTS = (
    _fault("no-ids", "", "calls come without an id", NoIds()),
    _fault("same-id", "Z43", "all calls of an answer have one id", SameId(), _SHARED),
    _fault(
        "constant-id",
        "Z43",
        "every call of every answer has one id",
        IdChange(_constant_id),
        _SHARED,
    ),
    _fault("long-ids", "", f"ids of {LONG_ID_LENGTH} characters", IdChange(_long_id)),
    _fault("odd-ids", "", "ids with | and : in them", IdChange(_odd_id)),
    _fault(
        "numbered-ids",
        "Z43",
        "ids of the form functions.NAME:0, counted anew in every answer",
        IdChange(_numbered_id),
    ),
)
