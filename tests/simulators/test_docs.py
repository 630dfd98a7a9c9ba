from __future__ import annotations

from collections.abc import Callable

import pytest

from simulators.faults.fault_table import fault_table, story_table
from simulators.vendors.vendor_table import vendor_table
from tests.simulators.plugin import ROOT


@pytest.mark.parametrize(
    ("name", "table"),
    [("vendors", vendor_table), ("faults", fault_table), ("stories", story_table)],
)
def test_the_documented_tables_are_the_registries(name: str, table: Callable[[], str]) -> None:
    """The documented tables match the registries; the failure message shows the new table."""
    page = (ROOT / "docs" / "simulators.md").read_text(encoding="utf-8")
    _, _, rest = page.partition(f"<!-- {name} -->\n")
    documented, _, _ = rest.partition(f"\n<!-- end of {name} -->")

    assert documented == table()
