"""The detector's state of a profile, its incidents and its events."""

from __future__ import annotations

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models.functions import Now
from typing_extensions import override

from dashboard.models.profile import Profile
from health.watch import Watch as WatchState
from health.watch import watch_from_json

# Actions of people: kinds of a WatchEvent beside those of health.watch.
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
    # The state, as health.watch writes it.
    state = models.JSONField(default=dict)
    # Parts of the state, for long lists: how far the baseline of parse success is established,
    # and which metrics were always poor. The whole state is kilobytes.
    known = models.CharField(max_length=16, default="none", db_default="none")
    below_gate = ArrayField(models.CharField(max_length=32), default=list, db_default=[])
    # Live traffic: trials and failures that are too few to be evaluated yet.
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
    # The highest so far.
    worst = models.PositiveSmallIntegerField()
    # Refused by the endpoint, which needs no statistics.
    refused = models.BooleanField(default=False)
    state = models.CharField(max_length=16, choices=State, default=State.OPEN)
    # From the run that opened it: trials, failures, log_m, log_a, reference, estimate, ...
    figures = models.JSONField(default=dict)
    opened_at = models.DateTimeField()
    # The run, or for live traffic the bucket, that opened it: an incident is opened once.
    opened_by = models.BigIntegerField()
    ended_at = models.DateTimeField(null=True)
    # Recovered, but so severe that a person has to release it.
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
    """One event on the timeline of a profile, append-only."""

    profile = models.ForeignKey(Profile, models.CASCADE, related_name="events")
    incident = models.ForeignKey(Incident, models.CASCADE, null=True, related_name="events")
    metric = models.CharField(max_length=32)
    lane = models.SmallIntegerField(choices=Lane, db_default=Lane.PROBE.value)
    # Kinds of health.watch.Kind, and actions of people: accepted, released, acknowledged.
    kind = models.CharField(max_length=20)
    severity = models.PositiveSmallIntegerField(null=True)
    at = models.DateTimeField()
    # The last run, or bucket, that the watch had processed by then.
    after = models.BigIntegerField()
    figures = models.JSONField(default=dict)
    by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True)
    note = models.TextField(blank=True)

    class Meta:
        indexes = [models.Index(fields=["profile", "-id"], name="watch_event_of_profile")]

    @override
    def __str__(self) -> str:
        return f"{self.kind} of {self.metric}"
