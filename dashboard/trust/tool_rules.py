"""Editing the rules that class tools by their names; every policy follows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.utils.translation import gettext as _

from dashboard.audit import services as audit
from dashboard.core.errors import Refused
from dashboard.models import ToolRule
from dashboard.models.audit import Action
from dashboard.trust import policies, policy_renewal
from health.risk import LONGEST_PATTERN, Risk

# All of them are in every policy.
MOST_RULES = 200
LONGEST_NOTE = 200


def add(*, pattern: str, risk: Risk, note: str = "", by: User | None) -> ToolRule:
    """A new rule, before the others: whoever adds one wants it to decide."""
    with transaction.atomic():
        policies.outdate_all()
        rules = list(ToolRule.objects.in_order())
        if len(rules) >= MOST_RULES:
            told = _("There are {count} rules already. Remove one first.")
            raise Refused(told.format(count=MOST_RULES))
        pattern = _checked(pattern, rules)
        rule = ToolRule.objects.create(
            pattern=pattern, risk=risk.value, note=_noted(note), position=0, created_by=by
        )
        _number([rule, *rules])
        _note(rule, by=by, after=_as_told(rule))
    policy_renewal.renew_outdated()
    return rule


def change(rule: ToolRule, *, pattern: str, risk: Risk, note: str) -> None:
    """Give a rule another pattern, class or note; it keeps its place."""
    with transaction.atomic():
        policies.outdate_all()
        rules = list(ToolRule.objects.in_order())
        if rule not in rules:
            raise Refused(_("Somebody has removed this rule meanwhile."))
        others = [each for each in rules if each != rule]
        before = _as_told(rules[rules.index(rule)])
        rule.pattern, rule.risk, rule.note = _checked(pattern, others), risk.value, _noted(note)
        rule.save(update_fields=["pattern", "risk", "note"])
        was, now = audit.changed_values(before, _as_told(rule))
        if now:
            _note(rule, before=was, after=now)
    policy_renewal.renew_outdated()


def move(rule: ToolRule, *, up: bool) -> None:
    """Let a rule and its neighbour change places; the first that fits decides."""
    with transaction.atomic():
        policies.outdate_all()
        rules = list(ToolRule.objects.in_order())
        if rule not in rules:
            raise Refused(_("Somebody has removed this rule meanwhile."))
        at = rules.index(rule)
        to = min(max(at - 1 if up else at + 1, 0), len(rules) - 1)
        rules[at], rules[to] = rules[to], rules[at]
        _number(rules)
        if at != to:
            _note(rule, before={"position": at + 1}, after={"position": to + 1})
    policy_renewal.renew_outdated()


def remove(rule: ToolRule) -> bool:
    """Take a rule out; False where it was gone already."""
    with transaction.atomic():
        policies.outdate_all()
        before = _as_told(rule)
        removed, _ = ToolRule.objects.filter(pk=rule.pk).delete()
        if removed:
            _note(rule, before=before)
    policy_renewal.renew_outdated()
    return bool(removed)


def _as_told(rule: ToolRule) -> dict[str, Any]:
    return {"pattern": rule.pattern, "risk": rule.risk, "note": rule.note}


def _note(
    rule: ToolRule,
    *,
    by: User | None = None,
    before: Mapping[str, Any] | None = None,
    after: Mapping[str, Any] | None = None,
) -> None:
    """Write down what became of a rule, as it was and is."""
    subject = f"tool rule {rule.pattern}"
    audit.record(Action.TOOL_RULES_CHANGED, subject=subject, by=by, before=before, after=after)


def _number(rules: list[ToolRule]) -> None:
    for position, rule in enumerate(rules, start=1):
        rule.position = position
    ToolRule.objects.bulk_update(rules, ["position"])


def _checked(pattern: str, others: list[ToolRule]) -> str:
    pattern = pattern.strip()
    if not pattern or len(pattern) > LONGEST_PATTERN or not pattern.isprintable():
        told = _("A pattern has 1 to {count} printable characters.")
        raise Refused(told.format(count=LONGEST_PATTERN))
    if pattern.lower() in {other.pattern.lower() for other in others}:
        raise Refused(_("There is already a rule for {pattern}.").format(pattern=pattern))
    return pattern


def _noted(note: str) -> str:
    return " ".join(note.replace("\0", "").split())[:LONGEST_NOTE]
