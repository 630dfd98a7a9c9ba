"""Tables of figures, some of which are judged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field


@dataclass(slots=True)
class Table:
    """Rows under a title. If the last column is a verdict, a row may miss its tolerance."""

    title: str
    columns: Sequence[str]
    rows: list[Sequence[str]] = field(default_factory=list)
    failures: int = 0
    notes: list[str] = field(default_factory=list)

    def add(self, row: Sequence[str], passed: bool | None = None) -> None:
        """Add a row; with a verdict if it is judged, else a dash in that column."""
        judged = len(row) < len(self.columns)
        self.rows.append((*row, _VERDICTS[passed]) if judged else row)
        self.failures += passed is False

    def text(self) -> str:
        """The table as Markdown."""
        lines = [self.columns, ["---"] * len(self.columns), *self.rows]
        table = "\n".join(f"| {' | '.join(line)} |" for line in lines)
        return "\n\n".join((f"**{self.title}**", table, *self.notes)) + "\n"


_VERDICTS = {True: "yes", False: "NO", None: "-"}


def within(value: float, expected: float, share: float) -> bool:
    """Whether a value differs from the expected one by at most this share of it."""
    return abs(value - expected) <= share * expected + 1e-9
