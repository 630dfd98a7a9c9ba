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
from dashboard.endpoints.as_code.yaml_nodes import compose, json_value
from probes.secret import Secret
from tests.dashboard.endpoints.as_code.builders import apply_file, make_plan
from tests.factories import make_endpoint

# Everything that a database column can hold.
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
def test_written_fields_read_back_unchanged(fields: dict[str, Any]) -> None:
    """Every JSON value keeps its type."""
    mistakes = Mistakes()

    tree = compose(
        "x:\n" + file_writer.format_block(fields, indent=2) if fields else "x: {}", mistakes
    )

    mistakes.check()
    assert tree is not None
    assert repr(json_value(tree, mistakes)) == repr({"x": fields})


@pytest.mark.django_db
def test_an_export_is_idiomatic_yaml() -> None:
    """Fields are in a fixed order, without unnecessary quotes and empty values."""
    make_endpoint(slug="b", options={"stop": ["no", {"a": [1]}], "x": {}}, model="a: b")
    prices = {"price_input": Decimal("0.15"), "price_output": Decimal("0.000001")}
    make_endpoint(slug="a", model="org/m-1:free", tags=["eu", "x"], currency="EUR", **prices)

    text = file_writer.export_endpoints(None)

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
def test_an_export_mentions_a_stored_key_without_its_value() -> None:
    """Not even its last characters are exported."""
    make_endpoint(key=Secret("sk-abcdefghijklmnop"))

    text = file_writer.export_endpoints(None)

    assert "# An API key is stored." in text
    assert "mnop" not in text


@pytest.mark.django_db
def test_an_empty_export_can_be_applied() -> None:
    """The export of a new installation is a valid file."""
    assert make_plan(file_writer.export_endpoints(None)).steps == []


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
    """The round trip keeps all values."""
    ttl = timedelta(minutes=minutes)
    with transaction.atomic():
        make_endpoint(options=options, model=model, ttl=ttl, price_input=price)
        make_endpoint(slug="zz", enabled=False, key=Secret("sk-abcdefghijklmnop"))

        text = file_writer.export_endpoints(None)
        plan = apply_file(text, prune=True)

        assert [step.as_json() for step in plan.changing] == []
        assert file_writer.export_endpoints(None) == text
        transaction.set_rollback(True)
