"""Calls sent as text, in every format that models write."""

from __future__ import annotations

from probes.parsers import PARSERS
from simulators.faults.fault import Fault
from simulators.faults.text import leak_variants
from simulators.faults.text.call_writers import WRITERS
from simulators.faults.text.leak import Leak, leak_fault, with_text, without_calls

__all__ = ["FAULTS", "Leak", "with_text", "without_calls"]

# Formats with their own row in the zoo; the others leak for the same reason as Z24.
_ROWS = {
    "dsml": "Z41",
    "kimi_k2": "Z42",
    "minimax_m2": "Z36",
    "harmony": "Z47",
    "glm": "Z33",
}


def _leak(parser: str) -> Fault:
    return leak_fault(
        f"leak-{parser.replace('_', '-')}",
        _ROWS.get(parser, "Z24"),
        f"calls stand in the content in the {parser} format, and the stop is a plain one",
        parser,
        WRITERS[parser],
    )


FAULTS = (*(_leak(parser) for parser in PARSERS), *leak_variants.FAULTS)
