"""A fault that is switched on, and the syntax of switches in a URL."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from simulators.faults.fault import Fault
from simulators.faults.fault_schedule import FaultSchedule
from simulators.vendors.hooks import FaultHooks

OPTIONS = ("p", "seed", "from", "until", "ramp", "every", "for", "value")


class SwitchError(ValueError):
    """Switches that cannot be parsed, and the reason."""


@dataclass(frozen=True, slots=True)
class FaultSwitch:
    """A fault, its schedule, and the hooks that implement it."""

    fault: Fault
    schedule: FaultSchedule
    hooks: FaultHooks

    def acts(self, now: float, key: str) -> bool:
        return self.schedule.acts(now, f"{self.fault.name}/{key}")


def read_switches(text: str, faults: Mapping[str, Fault]) -> tuple[FaultSwitch, ...]:
    """Parse `leak-hermes,p=0.3,seed=7+rate-limit,from=60` into switches, in order."""
    return tuple(_read_switch(item, faults) for item in text.split("+") if item)


def _read_switch(text: str, faults: Mapping[str, Fault]) -> FaultSwitch:
    name, *pairs = text.split(",")
    if name not in faults:
        raise SwitchError(f"There is no fault {name!r}; docs/simulators.md lists them.")
    options = dict(_read_option(pair) for pair in pairs)
    fault = faults[name]
    value = options.pop("value", None)
    if value is not None and not fault.value:
        raise SwitchError(f"{name} takes no value.")
    return FaultSwitch(fault, _build_schedule(options), fault.make(value))


def _read_option(pair: str) -> tuple[str, float]:
    option, _, number = pair.partition("=")
    if option not in OPTIONS:
        raise SwitchError(f"There is no option {option!r}; there are {', '.join(OPTIONS)}.")
    try:
        value = float(number)
    except ValueError:
        value = math.nan
    if not math.isfinite(value) or value < 0 or (option == "p" and value > 1):
        raise SwitchError(
            f"{number!r} is no good {option}: a number from 0 on is wanted, p up to 1."
        )
    return option, value


def _build_schedule(options: Mapping[str, float]) -> FaultSchedule:
    return FaultSchedule(
        p=options.get("p", 1),
        seed=int(options.get("seed", 0)),
        start=options.get("from", 0),
        end=options.get("until"),
        ramp=options.get("ramp", 0),
        every=options.get("every", 0),
        lasts=options.get("for", 0),
    )
