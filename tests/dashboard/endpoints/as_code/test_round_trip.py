from __future__ import annotations

from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.db import transaction
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dashboard.endpoints.as_code import file_writer
from dashboard.endpoints.as_code.file_errors import Mistakes
from dashboard.endpoints.as_code.yaml_nodes import compose, value_of
from probes.secret import Secret
from tests.dashboard.endpoints.as_code.builders import applied, planned
from tests.factories import make_endpoint

# Whatever a database column can hold.
TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=12)
TRICKY = st.sampled_from(
    [
        *("no", "~", "null", "1e3", "0o17", "0x1f", ".5", "-", "12:30", "a: b", "#", "", "y", "<<"),
        *("- a", "? a", "'", '"', "\\", "\u2028", "\x85", "\ufeff", "\x7f", "a\n b", " a ", "{}"),
        *("a:", "k" * 2000),
    ]
)
NUMBERS = st.integers() | st.floats(allow_nan=False, allow_infinity=False)
SCALARS = st.none() | st.booleans() | NUMBERS | TEXTS | TRICKY
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3)
)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.dictionaries(TEXTS | TRICKY, VALUES, max_size=4))
def test_what_is_written_reads_back_as_the_same(fields: dict[str, Any]) -> None:
    """Every value that JSON can hold, with its type."""
    mistakes = Mistakes()

    tree = compose("x:\n" + file_writer.block(fields, indent=2) if fields else "x: {}", mistakes)

    mistakes.check()
    assert tree is not None
    assert repr(value_of(tree, mistakes)) == repr({"x": fields})


@pytest.mark.django_db
def test_an_export_looks_as_one_would_have_written_it() -> None:
    """Names in the order of the table, no quotes where none are needed, nothing that is empty."""
    make_endpoint(slug="b", options={"stop": ["no", {"a": [1]}], "x": {}}, model="a: b")
    prices = {"price_input": Decimal("0.15"), "price_output": Decimal("0.000001")}
    make_endpoint(slug="a", model="org/m-1:free", tags=["eu", "x"], currency="EUR", **prices)

    text = file_writer.export(None)

    assert text[text.index("version") :] == (
        "version: 1\n"
        "endpoints:\n"
        "\n"
        "  a:\n"
        "    provider: openai\n"
        "    base_url: http://127.0.0.1:9/v1\n"
        "    model: org/m-1:free\n"
        "    tags:\n      - eu\n      - x\n"
        "    ttl: 6h\n"
        "    max_concurrency: 2\n"
        "    enabled: true\n"
        "    price_input: 0.15\n"
        "    price_output: 1e-06\n"
        "    currency: EUR\n"
        "\n"
        "  b:\n"
        "    provider: openai\n"
        "    base_url: http://127.0.0.1:9/v1\n"
        '    model: "a: b"\n'
        "    options:\n"
        "      x: {}\n"
        '      stop:\n        - "no"\n        -\n          a:\n            - 1\n'
        "    ttl: 6h\n"
        "    max_concurrency: 2\n"
        "    enabled: true\n"
    )


@pytest.mark.django_db
def test_an_export_says_that_a_key_is_stored_and_not_which() -> None:
    """Not even its end."""
    make_endpoint(key=Secret("sk-abcdefghijklmnop"))

    text = file_writer.export(None)

    assert "# An API key is stored." in text
    assert "mnop" not in text


@pytest.mark.django_db
def test_an_export_of_nothing_can_be_applied() -> None:
    """A fresh installation is a file too."""
    assert planned(file_writer.export(None)).steps == []


@pytest.mark.django_db
@settings(
    max_examples=20,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(
    options=st.dictionaries(TEXTS | TRICKY, VALUES, max_size=3),
    model=TEXTS.map(lambda text: f"m{text}n"),
    minutes=st.integers(5, 40_000),
    price=st.none() | st.decimals(0, 10**6 - 1, places=6),
)
def test_applying_an_export_changes_nothing(
    options: dict[str, Any], model: str, minutes: int, price: Decimal | None
) -> None:
    """Round trip through the file, whatever the rows hold."""
    ttl = timedelta(minutes=minutes)
    with transaction.atomic():
        make_endpoint(options=options, model=model, ttl=ttl, price_input=price)
        make_endpoint(slug="zz", enabled=False, key=Secret("sk-abcdefghijklmnop"))

        text = file_writer.export(None)
        plan = applied(text, prune=True)

        assert [step.as_json() for step in plan.changing] == []
        assert file_writer.export(None) == text
        transaction.set_rollback(True)
