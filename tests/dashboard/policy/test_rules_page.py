from __future__ import annotations

from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.test import Client
from pytest_django.asserts import assertRedirects

from dashboard.core.errors import Refused
from dashboard.models import ToolRule
from dashboard.models.people import Role
from dashboard.trust import tool_rules
from health.risk import Risk
from tests.dashboard.policy.builders import current, trusted
from tests.factories import make_person
from tests.markup import assert_contains, assert_not_contains

PAGE = "/settings/tools/"
FORM = {"pattern": "deploy_*", "risk": "dangerous", "note": "Goes to production"}

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _static_files(static_files: Path) -> None:
    """Pages link to them by their hash."""


@pytest.fixture
def administrator(client: Client) -> Client:
    client.force_login(User.objects.create_superuser("admin"))
    return client


def add(*patterns: str) -> list[ToolRule]:
    return [
        tool_rules.add_rule(pattern=each, risk=Risk.READ, by=None) for each in reversed(patterns)
    ]


def order() -> list[str]:
    return [rule.pattern for rule in ToolRule.objects.in_order()]


def test_the_page_shows_the_rules_and_the_known_tools(administrator: Client) -> None:
    """Grouped by the agents whose tools they are."""
    add("mcp__docs__*")

    page = administrator.get(PAGE)

    assert_contains(page, "mcp__docs__*")
    assert_contains(page, "Claude Code")
    assert_contains(page, "run_shell_command")


def test_a_rule_is_added_first_and_reaches_the_policies(administrator: Client) -> None:
    """Whoever adds one wants it to decide."""
    endpoint = trusted()
    add("b")

    assertRedirects(administrator.post(PAGE, FORM), PAGE)

    assert order() == ["deploy_*", "b"]
    made = ToolRule.objects.in_order().first()
    assert made
    assert made.created_by == User.objects.get()
    assert current(endpoint).body["risk"]["rules"][0] == {
        "pattern": "deploy_*",
        "risk": "dangerous",
    }


@pytest.mark.parametrize(
    ("over", "message"),
    [
        ({"pattern": ""}, "This field is required"),
        ({"pattern": "a" * 101}, "at most 100 characters"),
        ({"pattern": "a\tb"}, "printable characters"),
        ({"pattern": "TAKEN"}, "There is already a rule for TAKEN"),
        ({"risk": "harmless"}, "not one of the available choices"),
    ],
    ids=["empty", "long", "unprintable", "taken", "no class"],
)
def test_a_rule_that_makes_no_sense_is_refused(
    administrator: Client, over: dict[str, str], message: str
) -> None:
    """The form says what to mend."""
    add("taken")

    assert_contains(administrator.post(PAGE, {**FORM, **over}), message)
    assert order() == ["taken"]


def test_rules_change_places(administrator: Client) -> None:
    """The first that fits decides, so their order is the operator's; the ends are ends."""
    add("a", "b", "c")
    last = ToolRule.objects.get(pattern="c")

    for to in ("up", "up", "up"):
        administrator.post(f"{PAGE}{last.pk}/move/", {"to": to})
    assert order() == ["c", "a", "b"]
    administrator.post(f"{PAGE}{last.pk}/move/", {"to": "down"})
    assert order() == ["a", "c", "b"]


def test_a_rule_is_changed_and_removed(administrator: Client) -> None:
    """It keeps its place."""
    add("a", "b")
    rule = ToolRule.objects.get(pattern="a")

    assert_contains(administrator.get(f"{PAGE}{rule.pk}/"), 'value="a"')
    administrator.post(f"{PAGE}{rule.pk}/", {"pattern": "z", "risk": "write", "note": ""})
    assert (order(), ToolRule.objects.get(pattern="z").risk) == (["z", "b"], "write")
    assert_contains(
        administrator.post(f"{PAGE}{rule.pk}/", {"pattern": "b", "risk": "read"}), "already a rule"
    )
    administrator.post(f"{PAGE}{rule.pk}/remove/")
    assert order() == ["b"]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("deploy_now", "is <b>read</b>"),
        ("bash", "is <b>dangerous</b>"),
        ("never heard of it", "no rule fits"),
        ("x" * 257, "longer than 256 characters"),
    ],
    ids=["own rule", "known tool", "unknown", "endless"],
)
def test_a_name_can_be_tried(administrator: Client, name: str, expected: str) -> None:
    """The answer says the class and the rule."""
    add("deploy_*")

    assert_contains(administrator.get(PAGE, {"name": name}), expected)


def test_names_and_patterns_are_shown_as_text(administrator: Client) -> None:
    """Whatever they contain."""
    add("<script>alert(1)</script>")

    page = administrator.get(PAGE, {"name": "<script>alert(1)</script>"})

    assert_not_contains(page, "<script>alert(1)")
    assert_contains(page, "&lt;script&gt;alert(1)")


def test_only_administrators_see_and_change_rules(client: Client) -> None:
    """Others are refused, and nobody gets in without signing in."""
    (rule,) = add("a")
    addresses = [PAGE, f"{PAGE}{rule.pk}/", f"{PAGE}{rule.pk}/move/", f"{PAGE}{rule.pk}/remove/"]

    assert [client.post(address, FORM).status_code for address in addresses] == [302] * 4
    client.force_login(make_person("alice", Role.OPERATOR))
    assert [client.post(address, FORM).status_code for address in addresses] == [403] * 4
    assert order() == ["a"]


def test_a_rule_that_is_gone_is_not_found(administrator: Client) -> None:
    """Two administrators may look at the same page."""
    (rule,) = add("a")
    tool_rules.remove_rule(rule)

    assert administrator.get(f"{PAGE}{rule.pk}/").status_code == 404
    with pytest.raises(Refused):
        tool_rules.move_rule(rule, up=True)


def test_there_are_only_so_many_rules() -> None:
    """All of them are in every policy."""
    ToolRule.objects.bulk_create(
        ToolRule(pattern=f"p{number}", risk="read", position=number)
        for number in range(tool_rules.MAX_RULES)
    )

    with pytest.raises(Refused):
        add("one more")
