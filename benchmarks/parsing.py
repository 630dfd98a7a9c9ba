"""The cost of parsing a model's text, per byte and per call: `python -m benchmarks.parsing`."""

from __future__ import annotations

import gc
import json
import re
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from probes.adapters import ADAPTERS
from probes.messages import JSON, Reply, Stop, Text, ToolCall, ToolSpec
from probes.parsers.base import JsonText, Parameter, Parameters, RawCall
from probes.parsers.reader import TextReader
from probes.resolve.call import resolve_call, resolve_json_call

SIZES = {"1 KB": 1_000, "100 KB": 100_000, "10 MB": 10_000_000}
PIECE = 20
ROUNDS = 3
# Short texts are repeated until all sizes are measured equally long: a long measurement sees every
# busy moment of the machine, a short one may miss them.
BYTES = max(SIZES.values())
CALLS = 2_000

SCHEMA: dict[str, JSON] = {
    "type": "object",
    "properties": {
        "path": {"type": "string"},
        "line": {"type": "integer", "minimum": 1},
        "content": {"type": "string"},
        "mode": {"enum": ["replace", "insert"]},
    },
    "required": ["path", "content"],
    "additionalProperties": False,
}
TOOLS = (ToolSpec("edit_file", "Edits a file.", SCHEMA), ToolSpec("now", "", None))
ARGUMENTS: dict[str, JSON] = {
    "path": "src/app.py",
    "line": 12,
    "content": "def f(x):\n    return x < 3 and [x] or {}\n" * 16,
    "mode": "insert",
}
PROSE = (
    "The function reads its input once. It keeps a list of pieces, not a growing string; `join` "
    "runs at the end (see [the guide](https://example.com/a?b=1)).\n\n- a < b holds for all x\n"
    "- {braces} and [brackets] are text here, as is <b>this</b>\n\n"
)
ANSWER = (
    "The function reads its input once and keeps a list of pieces, not a growing string; the "
    "pieces are joined at the end, so that the cost per byte does not grow with the text. "
) * 60
ARMED = ("auto", "hermes", "qwen_xml", "kimi_k2", "harmony")
# About what one token of a model is.
_DELTA = re.compile(r" ?\w+|\W")
CALL = {"name": "edit_file", "arguments": ARGUMENTS}
HERMES = f"<tool_call>\n{json.dumps(CALL)}\n</tool_call>\n"
TAGS = "".join(f"<parameter={key}>\n{value}\n</parameter>\n" for key, value in ARGUMENTS.items())
QWEN = f"<tool_call>\n<function=edit_file>\n{TAGS}</function>\n</tool_call>\n"
# Each over 1,000 bytes: 10 MB of them stay below the limit on the calls of one text.
KINDS = {"prose": (PROSE,), "JSON calls": (PROSE, HERMES), "tagged calls": (PROSE, QWEN)}


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the first table: nanoseconds per byte for each size."""

    kind: str
    fed: str
    costs: tuple[float, ...]

    @property
    def ratio(self) -> float:
        """The highest cost per byte divided by the lowest."""
        return max(self.costs) / min(self.costs)


@dataclass(frozen=True, slots=True)
class DeltaCost:
    """Microseconds for one delta: read, and searched for one character."""

    armed: str
    read: float
    find: float


def main() -> int:
    """Measure and print the tables, and between them the fixed cost of a reader."""
    out = sys.stdout
    headings = " | ".join(f"{size}, ns/byte" for size in SIZES)
    out.write(f"| text | fed | {headings} | dearest / cheapest |\n|---|---|---|---|---|---|\n")
    for row in measure_rows():
        costs = " | ".join(f"{cost:.1f}" for cost in row.costs)
        out.write(f"| {row.kind} | {row.fed} | {costs} | {row.ratio:.2f} |\n")
    out.write(
        "\n| a delta of plain text | µs | `str.find` on it, µs | ratio |\n|---|---|---|---|\n"
    )
    for delta in delta_costs():
        out.write(f"| {delta.armed} armed | {delta.read:.2f} | {delta.find:.3f} |")
        out.write(f" {delta.read / delta.find:.0f} |\n")
    out.write(f"\nA reader for a single character: {microseconds(lambda: _read('x', 1)):.1f} µs\n")
    out.write("\n| one validated call | µs |\n|---|---|\n")
    for name, cost in call_costs():
        out.write(f"| {name} | {cost:.0f} |\n")
    return 0


def measure_rows() -> Iterator[Row]:
    """The cost per byte, by kind of text and way of feeding."""
    for kind, units in KINDS.items():
        texts = [repeat_to_size(units, size) for size in SIZES.values()]
        yield Row(kind, "whole", costs_per_byte(texts, piece=BYTES * 2))
        yield Row(kind, f"by {PIECE}", costs_per_byte(texts, piece=PIECE))


def delta_costs() -> Iterator[DeltaCost]:
    """The cost of one delta of an answer in plain text, with all formats armed and with one."""
    deltas = _DELTA.findall(ANSWER)
    for armed in ARMED:
        read = find = float("inf")
        for _ in range(ROUNDS * 10):
            feed = TextReader(TOOLS, format=armed).feed
            read = min(read, _time_repeats(lambda: [feed(delta) for delta in deltas], 1))  # noqa: B023
            find = min(find, _time_repeats(lambda: [delta.find("<") for delta in deltas], 1))
        scale = len(deltas) * 1000
        yield DeltaCost(armed, read / scale, find / scale)


def call_costs() -> Iterator[tuple[str, float]]:
    """Microseconds for one call through `probes.resolve`, and through each wire format."""
    text = json.dumps(ARGUMENTS)
    broken = str(ARGUMENTS)
    tags = Parameters(tuple(Parameter(key, str(value)) for key, value in ARGUMENTS.items()))
    tagged = RawCall("edit_file", tags, "qwen_xml", TAGS)
    repaired = RawCall("edit_file", JsonText(broken), "hermes", broken)
    yield "ladder, strict JSON", microseconds(lambda: _resolve_arguments(text))
    yield "ladder, Python literal repaired", microseconds(lambda: resolve_call(repaired, TOOLS))
    yield "ladder, tagged parameters", microseconds(lambda: resolve_call(tagged, TOOLS))
    reply = Reply((Text("Now."), ToolCall("c1", "edit_file", ARGUMENTS, "", text)), Stop.TOOL_CALLS)
    for adapter in {adapter.format: adapter for adapter in ADAPTERS.values()}.values():
        body = adapter.write_reply(reply)
        read = adapter.read_reply
        yield f"{adapter.format} reply and ladder", microseconds(lambda: _resolve_reply(read(body)))  # noqa: B023


def repeat_to_size(units: Sequence[str], size: int) -> str:
    """Text of about this many bytes, all ASCII, of whole units."""
    unit = "".join(units)
    return unit * max(1, round(size / len(unit)))


def costs_per_byte(texts: Sequence[str], *, piece: int) -> tuple[float, ...]:
    """Nanoseconds per byte of each text, fed in pieces of this size; the best of some rounds.

    The sizes alternate, so that a busy moment of the machine does not affect only one of them.
    """
    rounds = [[_cost_per_byte(text, piece) for text in texts] for _ in range(ROUNDS)]
    return tuple(min(costs) for costs in zip(*rounds, strict=True))


def microseconds(work: Callable[[], object]) -> float:
    """Microseconds for one call, the best of some rounds."""
    return min(_time_repeats(work, CALLS) for _ in range(ROUNDS)) / CALLS / 1000


def _cost_per_byte(text: str, piece: int) -> float:
    repeats = max(1, BYTES // len(text))
    return _time_repeats(lambda: _read(text, piece), repeats) / (len(text) * repeats)


def _time_repeats(work: Callable[[], object], repeats: int) -> int:
    # Garbage collection depends on everything in the process, not on what is measured.
    gc.collect()
    gc.disable()
    try:
        start = time.process_time_ns()
        for _ in range(repeats):
            work()
        return time.process_time_ns() - start
    finally:
        gc.enable()


def _read(text: str, piece: int) -> None:
    reader = TextReader(TOOLS)
    for at in range(0, len(text), piece):
        reader.feed(text[at : at + piece])
    reader.close()


def _resolve_arguments(text: str) -> object:
    return resolve_json_call(text, name="edit_file", id="c1", format="openai", tools=TOOLS)


def _resolve_reply(reply: Reply) -> object:
    return [_resolve_arguments(call.raw) for call in reply.calls]


if __name__ == "__main__":
    sys.exit(main())
