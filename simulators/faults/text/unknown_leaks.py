"""Calls sent as text in formats that no parser reads: all that is left is to say so."""

from __future__ import annotations

from collections.abc import Sequence

from probes.messages import ToolCall
from probes.outcomes import Metric
from simulators.faults.effects import NO_CALLS, NOTHING, SILENCE
from simulators.faults.fault import Effect, Fault
from simulators.faults.text.call_writers import Writer
from simulators.faults.text.json_writers import as_json
from simulators.faults.text.leak import Leak
from simulators.faults.text.tag_writers import as_text


def _tool_tags(calls: Sequence[ToolCall]) -> str:
    """An element per call that is named like the tool, a child per argument."""
    return "\n".join(
        f"<{call.name}>\n"
        + "".join(f"<{key}>{as_text(value)}</{key}>\n" for key, value in call.input.items())
        + f"</{call.name}>"
        for call in calls
    )


def _tool_input(calls: Sequence[ToolCall]) -> str:
    """An object per call behind a sentence, under keys of an agent framework."""
    objects = "\n".join(
        f'{{"action": "{call.name}", "action_input": {as_json(call.input)}}}' for call in calls
    )
    return f"I will use a tool for that.\n{objects}"


def _code_block(calls: Sequence[ToolCall]) -> str:
    """A block of code behind a sentence, with a line per call."""
    lines = "\n".join(f"await functions.{call.name}({as_json(call.input)});" for call in calls)
    return f"This should do it:\n\n```ts\n{lines}\n```"


def _fault(name: str, symptom: str, write: Writer) -> Fault:
    # No call can be recovered, so everything that needs one stays unknown; each is a leak, and none
    # gets past the parser.
    metrics = {**SILENCE, Metric.LEAK: 1, Metric.UNSAFE_BLOCKED: 1}
    effect = Effect(metrics, NO_CALLS, in_text=NOTHING)
    hooks = Leak(write)
    return Fault(name, "Z24", symptom, lambda value: hooks, effect=effect)


FAULTS = (
    _fault(
        "leak-unknown-tags",
        "calls stand in the content as elements named like the tool, which no parser reads",
        _tool_tags,
    ),
    _fault(
        "leak-unknown-json",
        "calls stand in the content behind a sentence, as objects with keys that no parser reads",
        _tool_input,
    ),
    _fault(
        "leak-unknown-code",
        "calls stand in the content in a block of code behind a sentence",
        _code_block,
    ),
)
