"""The records are complete and refer to existing code; `python -m tests.zoo` proves them."""

from __future__ import annotations

import ast
import re
from collections import Counter
from functools import cache

import pytest

from tests.zoo.records import ROOT, Rule, read_rows_without_rule, read_rules, record_files

RULES = read_rules(record_files())
ROWS = {f"Z{number:02}" for number in range(1, 73)}


def test_every_row_of_the_zoo_has_a_rule_or_says_why_not() -> None:
    """Every row has either rules or a reason for having none."""
    ruled = {rule.row for rule in RULES if rule.row.startswith("Z")}
    without_rule = Counter(entry.row for entry in read_rows_without_rule(record_files()))

    assert ruled | set(without_rule) == ROWS
    assert not ruled & set(without_rule)
    assert set(without_rule.values()) <= {1}


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: f"{rule.row}-{rule.says}")
def test_a_record_names_code_and_a_test_that_exist(rule: Rule) -> None:
    """The text to remove occurs exactly once, and the test is named after its row."""
    text = (ROOT / rule.file).read_text(encoding="utf-8")
    file, _, function = rule.test.partition("::")

    assert text.count(rule.find) == 1
    assert rule.put != rule.find
    ast.parse(rule.without(text))
    assert function in _functions(file)
    assert _is_named_after(function, rule.row)


def test_no_removal_is_recorded_twice() -> None:
    """No two records of a row are equal."""
    counts = Counter((rule.row, rule.file, rule.find, rule.put, rule.test) for rule in RULES)

    assert [key for key, times in counts.items() if times > 1] == []


def _is_named_after(function: str, row: str) -> bool:
    # A rule outside the rows (L:trailing_comma) has a test named after what it does.
    return ":" in row or re.search(rf"_{row.lower()}(_|$)", function) is not None


@cache
def _functions(file: str) -> frozenset[str]:
    tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
    return frozenset(node.name for node in tree.body if isinstance(node, ast.FunctionDef))
