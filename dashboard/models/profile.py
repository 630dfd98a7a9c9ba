"""What was measured under one key. A changed key opens the next epoch."""

from __future__ import annotations

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now
from typing_extensions import override


class Stage(models.TextChoices):
    SHADOW = "shadow"  # probed, no live tools
    READ_ONLY = "read_only"
    WRITE = "write"
    FULL = "full"
    REJECTED = "rejected"
    ROLLED_BACK = "rolled_back"


class Declaration(models.TextChoices):
    """Whether the template of a key was declared by an operator."""

    NONE = ""  # no template is known, or the endpoint showed it
    OPEN = "open"  # declared, and not shown by the endpoint
    CONFIRMED = "confirmed"  # declared, and then shown by the endpoint


class Profile(models.Model):
    endpoint = models.ForeignKey("dashboard.Endpoint", models.CASCADE, related_name="profiles")
    epoch = models.PositiveIntegerField()
    provider = models.CharField(max_length=32)
    model = models.CharField(max_length=200)
    endpoint_url = models.CharField(max_length=2048)
    chat_template_hash = models.CharField(max_length=64, blank=True)
    declaration = models.CharField(
        max_length=16, choices=Declaration, db_default=Declaration.NONE.value, blank=True
    )
    # The dialect that its runs speak; empty is the provider's own. Another one is another profile.
    dialect = models.CharField(max_length=32, db_default="", blank=True)
    # The request options that its runs send. Any other options are another profile.
    options = models.JSONField(db_default={})
    key_hash = models.BinaryField(max_length=32)
    # The facts that the endpoint last reported about itself, and all values of each so far.
    fingerprint = models.JSONField(default=dict)
    facts_seen = models.JSONField(db_default={})
    stage = models.CharField(max_length=16, choices=Stage, db_default=Stage.SHADOW.value)
    # Since when it is at that stage; gates compute the age from it.
    stage_at = models.DateTimeField(db_default=Now())
    # Whether the endpoint's policy follows this profile. A new key's profile waits in shadow
    # beside the one in force until it is promoted.
    in_force = models.BooleanField(db_default=False)
    # One entry per field: value, trials, agree, low, high, evidence, and the run that measured it.
    capabilities = models.JSONField(db_default={})
    # The text format of calls when the profile began, empty if they were native: calls that leak
    # into text later are no success. Null until a run has seen calls.
    text_format = models.CharField(max_length=40, null=True)  # noqa: DJ001
    probe_version = models.CharField(max_length=40, db_default="")
    verified_at = models.DateTimeField(null=True)
    created_at = models.DateTimeField(db_default=Now())
    ended_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["endpoint", "epoch"], name="profile_epoch_once"),
            models.UniqueConstraint(
                fields=["endpoint"], condition=Q(ended_at=None), name="profile_one_current"
            ),
            models.UniqueConstraint(
                fields=["endpoint"], condition=Q(in_force=True), name="profile_one_in_force"
            ),
        ]

    @override
    def __str__(self) -> str:
        return f"profile {self.epoch} of endpoint {self.endpoint_id}"

    @property
    def has_shown_template(self) -> bool:
        """Whether the endpoint itself showed the template, so that a declared one is not needed."""
        return bool(self.chat_template_hash) and self.declaration != Declaration.OPEN

    @property
    def has_template_of_vendor(self) -> bool:
        """Whether the template was shown and never declared: another one is a vendor's change."""
        return bool(self.chat_template_hash) and self.declaration == Declaration.NONE
