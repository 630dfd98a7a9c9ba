"""Promotion requests, and every version of the gates."""

from __future__ import annotations

from typing import Self

from django.conf import settings
from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Now
from django.urls import reverse
from typing_extensions import override

from dashboard.models.mode import ModeSwitch
from dashboard.models.people import ApiToken
from dashboard.models.profile import Profile, Stage
from health.gates import DEFAULTS, Gates, gates_from_json


class GateVersion(models.Model):
    """A version of the gates. The newest applies; without any, the defaults of `health.gates`."""

    # The conditions per next stage, as health.gates writes them.
    body = models.JSONField()
    reason = models.TextField()
    by = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, null=True)
    at = models.DateTimeField(db_default=Now())

    @override
    def __str__(self) -> str:
        return f"gates {self.pk}"

    @classmethod
    def current(cls) -> tuple[GateVersion | None, Gates]:
        """The gates in effect; the defaults if no version is stored."""
        version = cls.objects.order_by("-id").first()
        return version, gates_from_json(version.body) if version else DEFAULTS


class RolloutRequestQuerySet(models.QuerySet["RolloutRequest"]):
    def pending(self) -> Self:
        return self.filter(state=RolloutRequest.State.PENDING)

    def newest_first(self) -> Self:
        return self.order_by("-id")


class RolloutRequest(models.Model):
    """A request to promote a profile to its next stage, and the decision on it."""

    class Kind(models.TextChoices):
        STAGE = "stage"  # the next stage of a profile
        UNPIN = "unpin"  # to turn off a pinned mode

    class State(models.TextChoices):
        PENDING = "pending"
        APPROVED = "approved"
        REJECTED = "rejected"
        WITHDRAWN = "withdrawn"
        VOIDED = "voided"  # its evidence changed
        EXPIRED = "expired"

    kind = models.CharField(max_length=16, choices=Kind, default=Kind.STAGE)
    profile = models.ForeignKey(Profile, models.CASCADE, related_name="requests")
    from_stage = models.CharField(max_length=16, choices=Stage)
    to_stage = models.CharField(max_length=16, choices=Stage)
    # The pinned mode, for UNPIN.
    switch = models.ForeignKey(ModeSwitch, models.CASCADE, null=True, related_name="requests")

    # The evidence that the decision is bound to, and the sha256 of its canonical text.
    evidence = models.JSONField()
    digest = models.BinaryField(max_length=32)
    gates = models.ForeignKey(GateVersion, models.PROTECT, null=True)
    # Whether a second person must decide; a copy of the setting at the time of the request.
    four_eyes = models.BooleanField(default=True)

    requested_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.PROTECT, related_name="rollouts_requested"
    )
    requested_token = models.ForeignKey(ApiToken, models.SET_NULL, null=True, related_name="+")
    requested_at = models.DateTimeField(db_default=Now())
    reason = models.TextField()
    expires_at = models.DateTimeField()

    state = models.CharField(max_length=16, choices=State, db_default=State.PENDING.value)
    decided_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.PROTECT, null=True, related_name="rollouts_decided"
    )
    decided_at = models.DateTimeField(null=True)
    decision_reason = models.TextField(blank=True)
    # What changed if it was voided, as [part, before, after].
    changed = models.JSONField(default=list)

    objects = RolloutRequestQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["profile"],
                condition=Q(state="pending", kind="stage"),
                name="rollout_one_pending",
            ),
            models.UniqueConstraint(
                fields=["switch"], condition=Q(state="pending"), name="rollout_one_pending_unpin"
            ),
            # Four eyes, enforced for every writer.
            models.CheckConstraint(
                condition=~Q(state="approved")
                | Q(four_eyes=False)
                | (Q(decided_by__isnull=False) & ~Q(decided_by=F("requested_by"))),
                name="rollout_four_eyes",
            ),
            models.CheckConstraint(
                condition=Q(state="pending", decided_at__isnull=True)
                | ~Q(state="pending") & Q(decided_at__isnull=False),
                name="rollout_decided_iff_over",
            ),
            models.CheckConstraint(
                condition=Q(kind="stage", switch__isnull=True)
                | Q(kind="unpin", switch__isnull=False),
                name="rollout_kind_whole",
            ),
        ]
        indexes = [
            models.Index(fields=["expires_at"], condition=Q(state="pending"), name="rollout_due"),
            models.Index(fields=["profile", "-id"], name="rollout_of_profile"),
        ]

    @override
    def __str__(self) -> str:
        return f"request {self.pk}"

    def get_absolute_url(self) -> str:
        return reverse("rollout", args=[self.pk])
