"""The audit log: who did what and why, in rows that can only be added and read.

The tables are made by a migration in plain SQL: the database itself refuses to change them, and
chains each row to the one before when its transaction commits. They refer to no other table, so
that nothing is lost here when something is removed there.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Any, Self

from django.db import models
from django.db.models import Q
from typing_extensions import override

from dashboard.models.endpoint import Endpoint

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def microseconds(at: datetime) -> int:
    """The time format of entries."""
    return (at - _EPOCH) // _MICROSECOND


class Action(StrEnum):
    """Actions that the audit log records."""

    ENDPOINT_CREATED = "endpoint.created"
    ENDPOINT_CHANGED = "endpoint.changed"
    ENDPOINT_REMOVED = "endpoint.removed"
    ENDPOINTS_APPLIED = "endpoints.applied"
    RUN_REQUESTED = "run.requested"
    RUN_CANCELLED = "run.cancelled"
    MODE_ON = "mode.on"
    MODE_OFF = "mode.off"
    INCIDENT_ACKNOWLEDGED = "incident.acknowledged"
    INCIDENT_RELEASED = "incident.released"
    BASELINE_ACCEPTED = "baseline.accepted"
    ROLLOUT_REQUESTED = "rollout.requested"
    ROLLOUT_APPROVED = "rollout.approved"
    ROLLOUT_REJECTED = "rollout.rejected"
    ROLLOUT_WITHDRAWN = "rollout.withdrawn"
    ROLLOUT_VOIDED = "rollout.voided"
    ROLLOUT_EXPIRED = "rollout.expired"
    STAGE_CHANGED = "stage.changed"
    GATES_CHANGED = "gates.changed"
    TOOL_RULES_CHANGED = "tool_rules.changed"
    CHANNEL_ADDED = "channel.added"
    CHANNEL_CHANGED = "channel.changed"
    CHANNEL_REMOVED = "channel.removed"
    MAINTENANCE_PLANNED = "maintenance.planned"
    MAINTENANCE_CANCELLED = "maintenance.cancelled"
    NOTE_ADDED = "note.added"
    NOTE_REMOVED = "note.removed"
    PERSON_ADDED = "person.added"
    PERSON_CHANGED = "person.changed"
    GRANT_GIVEN = "grant.given"
    GRANT_TAKEN = "grant.taken"
    TEAM_CHANGED = "team.changed"
    TOKEN_ISSUED = "token.issued"  # noqa: S105 -- the name of an action
    TOKEN_REVOKED = "token.revoked"  # noqa: S105 -- the name of an action
    SIGNED_IN = "session.signed_in"
    SIGNED_OUT = "session.signed_out"
    SIGN_IN_FAILED = "session.sign_in_failed"
    SIGN_IN_UNLOCKED = "session.unlocked"
    PASSWORD_CHANGED = "password.changed"  # noqa: S105 -- the name of an action
    SECOND_FACTOR_CHANGED = "second_factor.changed"
    DEMO_CHANGED = "demo.changed"


class AuditEntryQuerySet(models.QuerySet["AuditEntry"]):
    def newest_first(self) -> Self:
        return self.order_by("-id")

    def about_endpoints(self, teams: Iterable[int] | None) -> Self:
        """Entries about endpoints that belonged to those teams at the time; None means all."""
        entries = self.exclude(endpoint="")
        return entries if teams is None else entries.filter(team__in=teams)

    def of_endpoint(self, slug: str) -> Self:
        """Entries under that slug and under the endpoint's earlier slugs."""
        endpoint_ids = Endpoint.objects.kept().filter(slug=slug).values("pk")
        return self.filter(Q(endpoint=slug) | Q(endpoint_id__in=endpoint_ids))


class AuditEntry(models.Model):
    """One action. `body` holds all of it; the other columns are generated from `body`."""

    id = models.BigIntegerField(primary_key=True)
    at_us = models.BigIntegerField()  # microseconds since 1970
    body = models.TextField()
    action = models.CharField(max_length=40)
    actor = models.CharField(max_length=150)
    endpoint = models.CharField(max_length=60)
    endpoint_id = models.BigIntegerField(null=True)
    team = models.BigIntegerField(null=True)

    objects = AuditEntryQuerySet.as_manager()

    class Meta:
        managed = False
        db_table = "dashboard_auditentry"

    @override
    def __str__(self) -> str:
        return f"audit entry {self.pk}: {self.action}"

    @property
    def at(self) -> datetime:
        return _EPOCH + self.at_us * _MICROSECOND

    @property
    def parsed_body(self) -> dict[str, Any]:
        values: dict[str, Any] = json.loads(self.body)
        return values


class AuditLink(models.Model):
    """An entry's position in the hash chain, in commit order."""

    seq = models.BigIntegerField(primary_key=True)
    entry_id = models.BigIntegerField(unique=True)
    previous = models.BinaryField()
    digest = models.BinaryField()

    class Meta:
        managed = False
        db_table = "dashboard_auditlink"

    @override
    def __str__(self) -> str:
        return f"link {self.seq}"

    @property
    def hex(self) -> str:
        return bytes(self.digest).hex()
