"""Every fault that a vendor can have, by name."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from simulators.faults import prompt_limits, vendor_changes
from simulators.faults.calls import call_behaviour, faulty_ids, wrong_arguments
from simulators.faults.fault import Fault
from simulators.faults.refusals import (
    closure_refusals,
    id_refusals,
    replay_refusals,
    request_refusals,
    result_roles,
)
from simulators.faults.streams import chat_streams, other_streams, stream_only
from simulators.faults.text import leaks, prose_answers, unknown_leaks
from simulators.faults.transport import delivery

# In the order of the table.
FAMILIES = (
    leaks,
    unknown_leaks,
    prose_answers,
    wrong_arguments,
    call_behaviour,
    faulty_ids,
    request_refusals,
    replay_refusals,
    closure_refusals,
    id_refusals,
    result_roles,
    prompt_limits,
    chat_streams,
    other_streams,
    stream_only,
    delivery,
    vendor_changes,
)
FAULTS: Mapping[str, Fault] = MappingProxyType(
    {fault.name: fault for family in FAMILIES for fault in family.FAULTS}
)
