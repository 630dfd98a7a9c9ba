"""Edits the rules that classify tools by name; every policy is renewed."""

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

# Every policy contains all of them.
MAX_RULES = 200
MAX_NOTE_LENGTH = 200


def add_rule(*, pattern: str, risk: Risk, note: str = "", by: User | None) -> ToolRule:
    """Add a rule before the others, so that it decides first."""
    with transaction.atomic():
        policies.outdate_all()
        rules = list(ToolRule.objects.in_order())
        if len(rules) >= MAX_RULES:
            message = _("There are {count} rules already. Remove one first.")
            raise Refused(message.format(count=MAX_RULES))
        pattern = _check_pattern(pattern, rules)
        rule = ToolRule.objects.create(
            pattern=pattern, risk=risk.value, note=_clean_note(note), position=0, created_by=by
        )
        _store_positions([rule, *rules])
        _audit_change(rule, by=by, after=_as_json(rule))
    policy_renewal.renew_outdated()
    return rule


def change_rule(rule: ToolRule, *, pattern: str, risk: Risk, note: str) -> None:
    """Change the pattern, class or note of a rule; it keeps its position."""
    with transaction.atomic():
        policies.outdate_all()
        rules = list(ToolRule.objects.in_order())
        if rule not in rules:
            raise Refused(_("Somebody has removed this rule meanwhile."))
        others = [each for each in rules if each != rule]
        before = _as_json(rules[rules.index(rule)])
        rule.pattern, rule.risk, rule.note = (
            _check_pattern(pattern, others),
            risk.value,
            _clean_note(note),
        )
        rule.save(update_fields=["pattern", "risk", "note"])
        was, now = audit.changed_values(before, _as_json(rule))
        if now:
            _audit_change(rule, before=was, after=now)
    policy_renewal.renew_outdated()


def move_rule(rule: ToolRule, *, up: bool) -> None:
    """Swap a rule with its neighbour; the first rule that matches decides."""
    with transaction.atomic():
        policies.outdate_all()
        rules = list(ToolRule.objects.in_order())
        if rule not in rules:
            raise Refused(_("Somebody has removed this rule meanwhile."))
        at = rules.index(rule)
        to = min(max(at - 1 if up else at + 1, 0), len(rules) - 1)
        rules[at], rules[to] = rules[to], rules[at]
        _store_positions(rules)
        if at != to:
            _audit_change(rule, before={"position": at + 1}, after={"position": to + 1})
    policy_renewal.renew_outdated()


def remove_rule(rule: ToolRule) -> bool:
    """Remove a rule; False if it was removed already."""
    with transaction.atomic():
        policies.outdate_all()
        before = _as_json(rule)
        removed, _ = ToolRule.objects.filter(pk=rule.pk).delete()
        if removed:
            _audit_change(rule, before=before)
    policy_renewal.renew_outdated()
    return bool(removed)


def _as_json(rule: ToolRule) -> dict[str, Any]:
    return {"pattern": rule.pattern, "risk": rule.risk, "note": rule.note}


def _audit_change(
    rule: ToolRule,
    *,
    by: User | None = None,
    before: Mapping[str, Any] | None = None,
    after: Mapping[str, Any] | None = None,
) -> None:
    """Record a change of a rule in the audit log."""
    subject = f"tool rule {rule.pattern}"
    audit.record(Action.TOOL_RULES_CHANGED, subject=subject, by=by, before=before, after=after)


def _store_positions(rules: list[ToolRule]) -> None:
    for position, rule in enumerate(rules, start=1):
        rule.position = position
    ToolRule.objects.bulk_update(rules, ["position"])


def _check_pattern(pattern: str, others: list[ToolRule]) -> str:
    pattern = pattern.strip()
    if not pattern or len(pattern) > LONGEST_PATTERN or not pattern.isprintable():
        message = _("A pattern has 1 to {count} printable characters.")
        raise Refused(message.format(count=LONGEST_PATTERN))
    if pattern.lower() in {other.pattern.lower() for other in others}:
        raise Refused(_("There is already a rule for {pattern}.").format(pattern=pattern))
    return pattern


def _clean_note(note: str) -> str:
    return " ".join(note.replace("\0", "").split())[:MAX_NOTE_LENGTH]
