"""Rules of the operator that class tools by their names, before the defaults."""

from __future__ import annotations

from typing import Self

from django.conf import settings
from django.db import models
from django.db.models.functions import Now
from typing_extensions import override

from health.risk import LONGEST_PATTERN, Risk, Rule


class ToolRuleQuerySet(models.QuerySet["ToolRule"]):
    def in_order(self) -> Self:
        """The first that fits decides."""
        return self.order_by("position", "id")


class ToolRule(models.Model):
    pattern = models.CharField(max_length=LONGEST_PATTERN)
    risk = models.CharField(max_length=16, choices=[(risk.value, risk.value) for risk in Risk])
    note = models.CharField(max_length=200, blank=True)
    position = models.PositiveIntegerField()
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True)
    created_at = models.DateTimeField(db_default=Now())

    objects = ToolRuleQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["pattern"], name="tool_rule_pattern_once"),
            models.CheckConstraint(
                condition=models.Q(risk__in=[risk.value for risk in Risk]),
                name="tool_rule_risk_known",
            ),
        ]

    @override
    def __str__(self) -> str:
        return f"{self.pattern} is {self.risk}"

    @property
    def rule(self) -> Rule:
        """The same as a value."""
        return Rule(self.pattern, Risk(self.risk), self.note)
