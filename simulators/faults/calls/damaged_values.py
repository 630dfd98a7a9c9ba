"""Proxies that damage texts on their way: the calls fit their schema, and say something else."""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Mapping

from probes.messages import JSON, ToolCall
from probes.outcomes import Metric
from simulators.faults.calls.call_changes import CallChange, with_input
from simulators.faults.fault import Effect, Fault
from simulators.vendors.spec import VendorRequest

_SPACES = re.compile(r"\s+")
# How many values are damaged depends on what was asked for.
DAMAGED = Effect({Metric.VALUE_FIDELITY: None})


def change_strings(value: JSON, change: Callable[[str], str]) -> JSON:
    """The value with every string in it changed; names stay as they are."""
    match value:
        case str():
            return change(value)
        case Mapping():
            return {name: change_strings(item, change) for name, item in value.items()}
        case list():
            return [change_strings(item, change) for item in value]
        case _:
            return value


def _damage(change: Callable[[str], str]) -> CallChange:
    def damage(call: ToolCall, request: VendorRequest) -> ToolCall:
        values = {name: change_strings(value, change) for name, value in call.input.items()}
        return with_input(call, values)

    return CallChange(damage)


FAULTS = (
    Fault(
        "collapsed-space",
        "",
        "white space in arguments is collapsed into single spaces",
        lambda value: _damage(lambda text: _SPACES.sub(" ", text)),
        effect=DAMAGED,
    ),
    Fault(
        "escaped-html",
        "",
        "<, >, & and quotes in arguments are escaped as in HTML",
        lambda value: _damage(html.escape),
        effect=DAMAGED,
    ),
)
