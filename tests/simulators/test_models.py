from __future__ import annotations

import random
from typing import Any

import pytest

from probes.adapters import FORMATS
from simulators.vendors.registry import SPECS
from simulators.vendors.vendor import Vendor

OPEN = next(spec for spec in SPECS if spec.name == "open")

ASKED: dict[str, Any] = {
    "messages": [{"role": "user", "content": "Call paint.\ncolour: red"}],
    "tools": [
        {
            "type": "function",
            "function": {
                "name": "paint",
                "parameters": {"properties": {"colour": {"enum": ["red", "blue"]}}},
            },
        }
    ],
}


def share(vendor: Vendor, model: str, kind: str) -> float:
    """How many of 2,000 answers are of a kind."""
    adapter = FORMATS["openai"]
    call = adapter.read_request({**ASKED, "model": model})
    replies = [vendor.reply(call, random.Random(seed)) for seed in range(2000)]
    kinds = [sort(adapter.write_reply(reply)) for reply in replies]
    return kinds.count(kind) / len(kinds)


def sort(body: Any) -> str:
    message = body["choices"][0]["message"]
    if "tool_calls" not in message:
        return "leaked" if message["content"].startswith("<tool_call>") else "prose"
    good = message["tool_calls"][0]["function"]["arguments"] == '{"colour":"red"}'
    return "right" if good else "wrong"


@pytest.mark.parametrize(
    ("model", "kind", "expected"),
    [
        ("sim-steady", "right", 1.0),
        ("sim-prose", "prose", 1.0),
        ("sim-leaky", "leaked", 0.25),
        ("sim-sloppy", "wrong", 0.2),
    ],
)
def test_each_model_goes_wrong_as_often_as_it_says(model: str, kind: str, expected: float) -> None:
    """The known share of known faults, within four standard errors."""
    assert share(Vendor(OPEN), model, kind) == pytest.approx(expected, abs=0.04)


@pytest.mark.parametrize(("minutes", "expected"), [(0, 0.0), (30, 0.3), (60, 0.6), (600, 0.6)])
def test_the_fading_model_leaks_more_over_its_first_hour(minutes: int, expected: float) -> None:
    """From nothing to six in ten, and no further."""
    now = 100.0
    vendor = Vendor(OPEN, clock=lambda: now)
    now += minutes * 60

    assert share(vendor, "sim-fading", "leaked") == pytest.approx(expected, abs=0.045)
