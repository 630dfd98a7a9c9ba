from __future__ import annotations

from cli.probe.suite_table import probe_table
from tests.simulators.plugin import ROOT


def test_the_documented_probes_are_those_of_the_suite() -> None:
    """`python -m cli.probe.suite_table` prints the documented text."""
    page = (ROOT / "docs" / "probes.md").read_text(encoding="utf-8")
    _, _, behind = page.partition("<!-- probes -->\n")
    written, _, _ = behind.partition("\n<!-- end of probes -->")

    assert written == probe_table()
