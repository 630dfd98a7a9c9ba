"""Modes that are or were on, and the operator's rules that class tools by name."""

from __future__ import annotations

from typing import Self

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now
from typing_extensions import override

from dashboard.models.profile import Profile
from dashboard.models.watch import Incident
from health.modes import Mode
from health.risk import LONGEST_PATTERN, Risk, RiskRule


class ModeSwitchQuerySet(models.QuerySet["ModeSwitch"]):
    def on(self) -> Self:
        """Rows in effect now, by the database's clock."""
        return self.filter(Q(expires_at=None) | Q(expires_at__gt=Now()), off_at=None)

    def manual(self) -> Self:
        return self.filter(incident=None)


class ModeSwitch(models.Model):
    """A mode that is or was on, turned on by an incident or by a person."""

    profile = models.ForeignKey(Profile, models.CASCADE, related_name="switches")
    mode = models.CharField(max_length=24, choices=[(mode.value, mode.value) for mode in Mode])
    # The cause of an automatic mode; a manual one has an author and a reason instead.
    incident = models.ForeignKey(Incident, models.CASCADE, null=True, related_name="switches")
    reason = models.TextField()
    author = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="switched_on"
    )
    # The figures and runs behind an automatic mode.
    figures = models.JSONField(default=dict)
    # A pinned manual mode can be turned off only with a second person's approval.
    pinned = models.BooleanField(db_default=False)
    on_at = models.DateTimeField(db_default=Now())
    expires_at = models.DateTimeField(null=True)
    off_at = models.DateTimeField(null=True)
    off_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="switched_off"
    )
    off_reason = models.TextField(blank=True)

    objects = ModeSwitchQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["profile", "mode"],
                condition=Q(incident=None, off_at=None),
                name="mode_switch_one_manual",
            ),
            models.UniqueConstraint(
                fields=["incident", "mode"],
                condition=Q(incident__isnull=False, off_at=None),
                name="mode_switch_one_automatic",
            ),
        ]
        indexes = [
            models.Index(fields=["profile"], condition=Q(off_at=None), name="mode_switch_on"),
            # modes.expire_modes: the modes whose time is over.
            models.Index(
                fields=["expires_at"],
                condition=Q(off_at=None, expires_at__isnull=False),
                name="mode_switch_expiring",
            ),
        ]

    @override
    def __str__(self) -> str:
        return f"{self.mode} on profile {self.profile_id}"


class ToolRuleQuerySet(models.QuerySet["ToolRule"]):
    def in_order(self) -> Self:
        """In order: the first matching rule decides."""
        return self.order_by("position", "id")


class ToolRule(models.Model):
    """An operator's rule that classes tools by name. Rules come before the defaults."""

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
    def rule(self) -> RiskRule:
        """The rule as a value of `health`."""
        return RiskRule(self.pattern, Risk(self.risk), self.note)
