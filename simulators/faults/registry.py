"""Every fault that a vendor can be given, by name."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from simulators.faults import (
    arguments,
    calls,
    changes,
    chat_streams,
    closure_refusals,
    id_refusals,
    ids,
    leaks,
    other_streams,
    refusals,
    replay_refusals,
    transport,
    words,
)
from simulators.faults.fault import Fault

# In the order of the table.
FAMILIES = (
    leaks,
    words,
    arguments,
    calls,
    ids,
    refusals,
    replay_refusals,
    closure_refusals,
    id_refusals,
    chat_streams,
    other_streams,
    transport,
    changes,
)
FAULTS: Mapping[str, Fault] = MappingProxyType(
    {fault.name: fault for family in FAMILIES for fault in family.FAULTS}
)
