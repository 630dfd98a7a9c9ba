"""A fault that is switched on, and how switches are written in an address."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from simulators.faults.fault import Fault
from simulators.faults.fault_schedule import When
from simulators.vendors.hooks import Bend

OPTIONS = ("p", "seed", "from", "until", "ramp", "every", "for", "value")


class SwitchError(ValueError):
    """Switches that cannot be read, and why."""


@dataclass(frozen=True, slots=True)
class Switch:
    """A fault, when it acts, and the bend that carries it out."""

    fault: Fault
    when: When
    bend: Bend

    def acts(self, now: float, dice: str) -> bool:
        return self.when.acts(now, f"{self.fault.name}/{dice}")


def read_switches(text: str, faults: Mapping[str, Fault]) -> tuple[Switch, ...]:
    """`leak-hermes,p=0.3,seed=7+rate-limit,from=60` as switches, in their order."""
    return tuple(_switch(item, faults) for item in text.split("+") if item)


def _switch(text: str, faults: Mapping[str, Fault]) -> Switch:
    name, *pairs = text.split(",")
    if name not in faults:
        raise SwitchError(f"There is no fault {name!r}; docs/simulators.md lists them.")
    options = dict(_option(pair) for pair in pairs)
    fault = faults[name]
    value = options.pop("value", None)
    if value is not None and not fault.value:
        raise SwitchError(f"{name} takes no value.")
    return Switch(fault, _when(options), fault.make(value))


def _option(pair: str) -> tuple[str, float]:
    key, _, number = pair.partition("=")
    if key not in OPTIONS:
        raise SwitchError(f"There is no option {key!r}; there are {', '.join(OPTIONS)}.")
    try:
        value = float(number)
    except ValueError:
        value = math.nan
    if not math.isfinite(value) or value < 0 or (key == "p" and value > 1):
        raise SwitchError(f"{number!r} is no good {key}: a number from 0 on is wanted, p up to 1.")
    return key, value


def _when(options: Mapping[str, float]) -> When:
    return When(
        p=options.get("p", 1),
        seed=int(options.get("seed", 0)),
        start=options.get("from", 0),
        end=options.get("until"),
        ramp=options.get("ramp", 0),
        every=options.get("every", 0),
        lasts=options.get("for", 0),
    )
