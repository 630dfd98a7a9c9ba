"""One text that people read, as it stands in the sources."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, order=True)
class Message:
    """`plural` is empty where nothing is counted, `context` where one meaning is all there is."""

    singular: str
    plural: str = ""
    context: str = ""
