"""The limit of output tokens: its name in the request, and how high it may be.

Vendors refuse a request for either. What a refusal says is used for the rest of the run.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from probes.messages import JSON

# Two names of the same field of Chat Completions; the third is that of Responses.
RENAMED = {"max_tokens": "max_completion_tokens", "max_completion_tokens": "max_tokens"}
NAMES = (*RENAMED, "max_output_tokens")
_UNWANTED = (
    "extra inputs",
    "not permitted",
    "not supported",
    "unexpected",
    "unknown",
    "unrecognized",
    "unsupported",
)
# A number that is not a part of a name such as `sim-4-1106`.
_NUMBER = re.compile(r"(?<![\w.-])\d[\d,]{0,8}(?![\w-]|\.\d)")
_BELOW = re.compile(r"less than (?!or equal)")
# Smaller numbers in a refusal are bounds from below, positions or codes.
MIN_CAP = 16


@dataclass(frozen=True, slots=True)
class OutputLimit:
    """What was learnt: the name that is taken, "" if unknown, and the highest value, if stated."""

    parameter: str = ""
    cap: int | None = None

    def apply(self, body: Mapping[str, JSON]) -> dict[str, JSON]:
        """The request body with the limit as the endpoint takes it."""
        return {
            self._rename(name): self._lower(value) if name in NAMES else value
            for name, value in body.items()
        }

    def as_json(self) -> dict[str, JSON]:
        return {"parameter": self.parameter, "cap": self.cap}

    def _rename(self, name: str) -> str:
        return self.parameter if self.parameter and name in RENAMED else name

    def _lower(self, value: JSON) -> JSON:
        is_number = isinstance(value, int) and not isinstance(value, bool)
        return min(value, self.cap) if is_number and self.cap is not None else value  # type: ignore[type-var]


def sent_limit(body: Mapping[str, JSON]) -> str:
    """The name of the limit in a request body; "" if there is none."""
    return next((name for name in NAMES if name in body), "")


def learn_limit(known: OutputLimit, body: Mapping[str, JSON], refusal: str) -> OutputLimit:
    """What is known after the refusal of a request; the same as before if it is about else."""
    name, text = sent_limit(body), refusal.lower()
    if not name or not _is_about_limit(name, text):
        return known
    value = body[name]
    if isinstance(value, int) and (cap := _read_cap(text, value)) is not None:
        return OutputLimit(known.parameter, cap)
    other = RENAMED.get(name)
    if other and name in text and (other in text or any(word in text for word in _UNWANTED)):
        return OutputLimit(other, known.cap)
    return known


def _is_about_limit(name: str, text: str) -> bool:
    return any(word in text for word in (*NAMES, name, "output tokens", "completion tokens"))


def _read_cap(text: str, sent: int) -> int | None:
    """The highest number in a refusal that is below the limit that was sent."""
    numbers = [int(number.replace(",", "")) for number in _NUMBER.findall(text)]
    caps = [number for number in numbers if MIN_CAP <= number < sent]
    if not caps:
        return None
    return max(caps) - 1 if _BELOW.search(text) else max(caps)
