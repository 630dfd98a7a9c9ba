"""The detector's state of a profile, and everything that it ever noticed."""

from __future__ import annotations

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models.functions import Now
from typing_extensions import override

from dashboard.models.profile import Profile
from health.watch import Watch as WatchState
from health.watch import watch_from_json

# What people do to a watch: kinds of a WatchEvent beside those of health.watch.
ACCEPTED, RELEASED, ACKNOWLEDGED = "accepted", "released", "acknowledged"


class Lane(models.IntegerChoices):
    PROBE = 0
    LIVE = 1


class WatchQuerySet(models.QuerySet["Watch"]):
    def state_of(self, profile: Profile, lane: Lane = Lane.PROBE) -> WatchState:
        """The detector's state of a profile; that of a profile without runs is empty."""
        row = self.filter(profile=profile, lane=lane).first()
        return watch_from_json(row.state if row else {})


class Watch(models.Model):
    """A cache: following all runs of the profile again gives the same state."""

    profile = models.ForeignKey(Profile, models.CASCADE, related_name="watches")
    lane = models.SmallIntegerField(choices=Lane, db_default=Lane.PROBE.value)
    # Of health.watch.
    state = models.JSONField(default=dict)
    # Of the state, for lists of many: how much is known about what is normal for parse success,
    # and which metrics were never good enough. The whole state is kilobytes.
    known = models.CharField(max_length=16, default="none", db_default="none")
    below_gate = ArrayField(models.CharField(max_length=32), default=list, db_default=[])
    # Of the live lane: trials and failures that are too few to be looked at.
    pending = models.JSONField(default=dict)
    updated_at = models.DateTimeField(db_default=Now())

    objects = WatchQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["profile", "lane"], name="watch_once"),
        ]

    @override
    def __str__(self) -> str:
        return f"watch of profile {self.profile_id}"


class Incident(models.Model):
    """A degradation of one metric, open until it recovered, was accepted or was superseded."""

    class State(models.TextChoices):
        OPEN = "open"
        RECOVERED = "recovered"
        ACCEPTED = "accepted"  # as the new normal
        SUPERSEDED = "superseded"  # by another key or another suite

    profile = models.ForeignKey(Profile, models.CASCADE, related_name="incidents")
    metric = models.CharField(max_length=32)
    lane = models.SmallIntegerField(choices=Lane, db_default=Lane.PROBE.value)
    severity = models.PositiveSmallIntegerField()
    # The worst that it has been.
    worst = models.PositiveSmallIntegerField()
    # Refused by the endpoint, which needs no statistics.
    refused = models.BooleanField(default=False)
    state = models.CharField(max_length=16, choices=State, default=State.OPEN)
    # Of the run that opened it: trials, failures, log_m, log_a, reference, estimate, ...
    figures = models.JSONField(default=dict)
    opened_at = models.DateTimeField()
    # The run, or for the live lane the bucket, that opened it: an incident is opened once.
    opened_by = models.BigIntegerField()
    ended_at = models.DateTimeField(null=True)
    # It could be left, but was so severe that somebody has to allow it.
    release_wanted = models.BooleanField(default=False)
    acknowledged_at = models.DateTimeField(null=True)
    acknowledged_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["profile", "metric", "lane"],
                condition=models.Q(ended_at=None),
                name="incident_one_open",
            ),
            models.UniqueConstraint(
                fields=["profile", "metric", "lane", "opened_by"], name="incident_once"
            ),
            models.CheckConstraint(
                condition=models.Q(state="open", ended_at=None)
                | ~models.Q(state="open") & models.Q(ended_at__isnull=False),
                name="incident_open_iff_not_ended",
            ),
        ]
        indexes = [models.Index(fields=["-opened_at"], name="incident_newest")]

    @override
    def __str__(self) -> str:
        return f"incident {self.pk}"


class WatchEvent(models.Model):
    """One thing that was noticed or done: append-only, the time line of a profile."""

    profile = models.ForeignKey(Profile, models.CASCADE, related_name="events")
    incident = models.ForeignKey(Incident, models.CASCADE, null=True, related_name="events")
    metric = models.CharField(max_length=32)
    lane = models.SmallIntegerField(choices=Lane, db_default=Lane.PROBE.value)
    # Of health.watch.Kind, and what people do: accepted, released, acknowledged.
    kind = models.CharField(max_length=20)
    severity = models.PositiveSmallIntegerField(null=True)
    at = models.DateTimeField()
    # The last run, or bucket, that the watch had followed then.
    after = models.BigIntegerField()
    figures = models.JSONField(default=dict)
    by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True)
    note = models.TextField(blank=True)

    class Meta:
        indexes = [models.Index(fields=["profile", "-id"], name="watch_event_of_profile")]

    @override
    def __str__(self) -> str:
        return f"{self.kind} of {self.metric}"
