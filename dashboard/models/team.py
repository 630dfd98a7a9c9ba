"""Who may do what: teams that own endpoints, and the roles that people have in them."""

from __future__ import annotations

from collections.abc import Collection
from typing import TypeAlias

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.db.models.functions import Lower, Now
from django.utils.translation import gettext_lazy as _
from typing_extensions import override

# Whose endpoints somebody may see; None is all of them, those without a team too.
Teams: TypeAlias = Collection[int] | None


class Role(models.TextChoices):
    """What a grant gives; administrators are superusers instead, of everything."""

    VIEWER = "viewer", _("Viewer")
    OPERATOR = "operator", _("Operator")
    APPROVER = "approver", _("Approver")


class Team(models.Model):
    """A group of endpoints, seen only by its people and by those whose role holds everywhere."""

    name = models.CharField(max_length=60)
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        constraints = [models.UniqueConstraint(Lower("name"), name="team_name_once")]

    @override
    def __str__(self) -> str:
        return self.name


class Grant(models.Model):
    """A role of a person in one team, or with no team for all endpoints."""

    person = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="grants")
    team = models.ForeignKey(Team, models.CASCADE, null=True, related_name="grants")
    role = models.CharField(max_length=16, choices=Role)
    given_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="grants_given"
    )
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["person", "team", "role"], nulls_distinct=False, name="grant_once"
            ),
            models.CheckConstraint(condition=Q(role__in=Role.values), name="grant_role_known"),
        ]

    @override
    def __str__(self) -> str:
        return f"{self.role} of team {self.team_id}"
