from __future__ import annotations

from typing import Any

import pytest

from probes.adapters import FORMATS
from simulators.clock import Clock
from simulators.faults.fault_registry import FAULTS
from simulators.faults.fault_switch import read_switches
from simulators.vendors.spec import VendorRequest
from simulators.vendors.vendor import Vendor
from simulators.vendors.vendor_registry import SPECS

OPEN = next(spec for spec in SPECS if spec.name == "open")

REQUEST: dict[str, Any] = {
    "model": "sim-steady",
    "messages": [{"role": "user", "content": "Call paint.\ncolour: red"}],
    "tools": [
        {
            "type": "function",
            "function": {
                "name": "paint",
                "parameters": {
                    "type": "object",
                    "properties": {"colour": {"type": "string", "enum": ["red", "blue"]}},
                    "required": ["colour"],
                    "additionalProperties": False,
                },
            },
        }
    ],
}


def measure_share(switches: str, kind: str, clock: Clock | None = None) -> float:
    """The share of 2,000 answers that are of a kind."""
    vendor = Vendor(OPEN, clock=clock, switches=read_switches(switches, FAULTS))
    adapter = FORMATS["openai"]
    call = adapter.read_request(REQUEST)
    request = VendorRequest(REQUEST, {}, call, OPEN.models["sim-steady"], thinks=False)
    replies = [vendor.build_handler(b"the same").build_reply(request) for _ in range(2000)]
    kinds = [classify_answer(adapter.write_reply(reply)) for reply in replies]
    return kinds.count(kind) / len(kinds)


def classify_answer(body: Any) -> str:
    message = body["choices"][0]["message"]
    if "tool_calls" not in message:
        return "leaked" if message["content"].startswith("<tool_call>") else "prose"
    good = message["tool_calls"][0]["function"]["arguments"] == '{"colour":"red"}'
    return "right" if good else "wrong"


@pytest.mark.parametrize(
    ("switches", "kind", "expected"),
    [
        ("", "right", 1.0),
        ("prose", "prose", 1.0),
        ("leak-hermes,p=0.25", "leaked", 0.25),
        ("wrong-enum,p=0.2", "wrong", 0.2),
        ("wrong-enum,p=0.2,seed=5", "wrong", 0.2),
    ],
)
def test_a_switch_acts_as_often_as_it_says(switches: str, kind: str, expected: float) -> None:
    """A fault affects its share of answers, within four standard errors."""
    assert measure_share(switches, kind) == pytest.approx(expected, abs=0.04)


@pytest.mark.parametrize(("minutes", "expected"), [(0, 0.0), (30, 0.3), (60, 0.6), (600, 0.6)])
def test_a_fault_that_ramps_up_acts_more_over_its_first_hour(minutes: int, expected: float) -> None:
    """The share grows from 0 to 0.6 and stays there."""
    clock = Clock(source=lambda: 0)
    clock.advance(minutes * 60)

    leaked = measure_share("leak-hermes,p=0.6,ramp=3600", "leaked", clock)

    assert leaked == pytest.approx(expected, abs=0.045)
