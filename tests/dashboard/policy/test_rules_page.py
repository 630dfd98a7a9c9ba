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
from tests.dashboard.policy.builders import make_trusted_endpoint, read_policy
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


def add_rules(*patterns: str) -> list[ToolRule]:
    return [
        tool_rules.add_rule(pattern=pattern, risk=Risk.READ, by=None)
        for pattern in reversed(patterns)
    ]


def rule_order() -> list[str]:
    return [rule.pattern for rule in ToolRule.objects.in_order()]


def test_the_page_shows_the_rules_and_the_known_tools(administrator: Client) -> None:
    """Known tools are grouped by agent."""
    add_rules("mcp__docs__*")

    page = administrator.get(PAGE)

    assert_contains(page, "mcp__docs__*")
    assert_contains(page, "Claude Code")
    assert_contains(page, "run_shell_command")


def test_a_rule_is_added_first_and_reaches_the_policies(administrator: Client) -> None:
    """A new rule decides before the others."""
    endpoint = make_trusted_endpoint()
    add_rules("b")

    assertRedirects(administrator.post(PAGE, FORM), PAGE)

    assert rule_order() == ["deploy_*", "b"]
    rule = ToolRule.objects.in_order().first()
    assert rule
    assert rule.created_by == User.objects.get()
    assert read_policy(endpoint).body["risk"]["rules"][0] == {
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
def test_an_invalid_rule_is_refused(
    administrator: Client, over: dict[str, str], message: str
) -> None:
    """The form says what to correct."""
    add_rules("taken")

    assert_contains(administrator.post(PAGE, {**FORM, **over}), message)
    assert rule_order() == ["taken"]


def test_rules_can_be_moved(administrator: Client) -> None:
    """The first match decides, so operators choose the order; the first rule cannot move up."""
    add_rules("a", "b", "c")
    last = ToolRule.objects.get(pattern="c")

    for to in ("up", "up", "up"):
        administrator.post(f"{PAGE}{last.pk}/move/", {"to": to})
    assert rule_order() == ["c", "a", "b"]
    administrator.post(f"{PAGE}{last.pk}/move/", {"to": "down"})
    assert rule_order() == ["a", "c", "b"]


def test_a_rule_is_changed_and_removed(administrator: Client) -> None:
    """A changed rule keeps its position."""
    add_rules("a", "b")
    rule = ToolRule.objects.get(pattern="a")

    assert_contains(administrator.get(f"{PAGE}{rule.pk}/"), 'value="a"')
    administrator.post(f"{PAGE}{rule.pk}/", {"pattern": "z", "risk": "write", "note": ""})
    assert (rule_order(), ToolRule.objects.get(pattern="z").risk) == (["z", "b"], "write")
    assert_contains(
        administrator.post(f"{PAGE}{rule.pk}/", {"pattern": "b", "risk": "read"}), "already a rule"
    )
    administrator.post(f"{PAGE}{rule.pk}/remove/")
    assert rule_order() == ["b"]


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
    """The result shows the class and the rule."""
    add_rules("deploy_*")

    assert_contains(administrator.get(PAGE, {"name": name}), expected)


def test_names_and_patterns_are_shown_as_text(administrator: Client) -> None:
    """Markup in them is escaped."""
    add_rules("<script>alert(1)</script>")

    page = administrator.get(PAGE, {"name": "<script>alert(1)</script>"})

    assert_not_contains(page, "<script>alert(1)")
    assert_contains(page, "&lt;script&gt;alert(1)")


def test_only_administrators_see_and_change_rules(client: Client) -> None:
    """Other roles are refused, and anonymous requests are redirected."""
    (rule,) = add_rules("a")
    addresses = [PAGE, f"{PAGE}{rule.pk}/", f"{PAGE}{rule.pk}/move/", f"{PAGE}{rule.pk}/remove/"]

    assert [client.post(address, FORM).status_code for address in addresses] == [302] * 4
    client.force_login(make_person("alice", Role.OPERATOR))
    assert [client.post(address, FORM).status_code for address in addresses] == [403] * 4
    assert rule_order() == ["a"]


def test_a_removed_rule_is_not_found(administrator: Client) -> None:
    """Another administrator may have removed it."""
    (rule,) = add_rules("a")
    tool_rules.remove_rule(rule)

    assert administrator.get(f"{PAGE}{rule.pk}/").status_code == 404
    with pytest.raises(Refused):
        tool_rules.move_rule(rule, up=True)


def test_the_number_of_rules_is_limited() -> None:
    """Every policy contains all of them."""
    ToolRule.objects.bulk_create(
        ToolRule(pattern=f"p{number}", risk="read", position=number)
        for number in range(tool_rules.MAX_RULES)
    )

    with pytest.raises(Refused):
        add_rules("one more")
