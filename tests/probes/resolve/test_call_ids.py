from __future__ import annotations

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from probes.errors import WireError
from probes.resolve.call_ids import RULES, IdMap, mint_call_id


def test_a_minted_id_depends_on_its_seed_alone() -> None:
    """Reading the same text again gives the same id."""
    assert (
        mint_call_id("hermes", "f", 0)
        == mint_call_id("hermes", "f", 0)
        != mint_call_id("hermes", "f", 1)
    )
    assert re.fullmatch(r"call_[0-9A-Za-z]{24}", mint_call_id("\ud800"))


@pytest.mark.parametrize(
    ("rule", "id", "wire"),
    [
        ("any", "functions.f:0", "functions.f:0"),
        ("anthropic", "toolu_01", "toolu_01"),
        ("anthropic", "functions.f:0", "functions_f_0"),
        ("mistral", "abcDEF123", "abcDEF123"),
        ("kimi", "functions.f:7", "functions.f:7"),
        ("kimi", "call_1", "functions.f:0"),
    ],
)
def test_an_id_is_kept_where_the_target_takes_it_and_rewritten_where_not(
    rule: str, id: str, wire: str
) -> None:
    """Native ids are kept; foreign ones get the target's form and map back."""
    ids = IdMap(RULES[rule])

    assert ids.walk().call(id, "f") == wire
    assert ids.ours(wire) == id


def test_z49_a_foreign_id_becomes_nine_alphanumerics_for_mistral() -> None:
    """Mistral refuses every other id; equal ids map to the same one."""
    wire = IdMap(RULES["mistral"]).walk().call("call_00_9nLf", "f")

    assert re.fullmatch(r"[a-zA-Z0-9]{9}", wire)
    assert IdMap(RULES["mistral"]).walk().call("call_00_9nLf", "f") == wire


def test_z43_reused_ids_pair_by_position() -> None:
    """Each call is sent with its own id, and its result has the same."""
    walk = IdMap(RULES["any"]).walk()

    wire_ids = [walk.call("call_0", "f"), walk.result("call_0")]
    wire_ids += [walk.call("call_0", "f"), walk.call("call_0", "g")]
    wire_ids += [walk.result("call_0"), walk.result("call_0"), walk.result("call_0")]

    assert wire_ids == [
        "call_0",
        "call_0",
        "call_0_dup1",
        "call_0_dup2",
        "call_0_dup1",
        "call_0_dup2",
        None,
    ]


def test_kimi_numbers_run_through_the_conversation() -> None:
    """K2 miscounts if numbers restart."""
    walk = IdMap(RULES["kimi"]).walk()

    assert [walk.call(f"call_{number}", name) for number, name in enumerate("fgf")] == [
        "functions.f:0",
        "functions.g:1",
        "functions.f:2",
    ]


def test_a_later_walk_sends_what_an_earlier_one_sent() -> None:
    """The whole history is sent with every request."""
    ids = IdMap(RULES["mistral"])
    first, second = ids.walk(), ids.walk()

    assert [first.call("a", "f"), first.call("a", "f")] == [
        second.call("a", "f"),
        second.call("a", "f"),
    ]


@pytest.mark.parametrize(
    "value", [None, {}, {"rule": "no", "ids": []}, {"rule": "any", "ids": [1]}]
)
def test_a_stored_map_that_is_none_is_refused(value: object) -> None:
    """Stored data may be older than the code."""
    with pytest.raises(WireError):
        IdMap.from_json(value)  # type: ignore[arg-type]


@given(st.sampled_from(sorted(RULES)), st.lists(st.tuples(st.text(), st.text()), max_size=12))
def test_wire_ids_are_distinct_valid_and_lead_back(rule: str, calls: list[tuple[str, str]]) -> None:
    """Whatever the ids, also after a round trip through storage."""
    ids = IdMap(RULES[rule])
    walk = ids.walk()

    wire_ids = [walk.call(id, name) for id, name in calls]
    stored = IdMap.from_json(json.loads(json.dumps(ids.as_json())))

    assert len(set(wire_ids)) == len(wire_ids)
    assert all(RULES[rule].accepts(wire) for wire in wire_ids)
    assert [stored.ours(wire) for wire in wire_ids] == [id for id, _ in calls]
