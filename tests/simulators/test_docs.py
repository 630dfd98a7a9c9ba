from __future__ import annotations

from simulators.vendors.table import vendor_table
from tests.simulators.plugin import ROOT


def test_the_documented_table_of_vendors_is_the_registry() -> None:
    """A vendor that is added or changed must be written down; the message holds the new table."""
    page = (ROOT / "docs" / "simulators.md").read_text(encoding="utf-8")
    _, _, behind = page.partition("<!-- vendors -->\n")
    written, _, _ = behind.partition("\n<!-- end of vendors -->")

    assert written == vendor_table()
