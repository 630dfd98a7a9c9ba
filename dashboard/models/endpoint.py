"""What an operator registers: endpoints, their credentials, edits, applied files and notes."""

from __future__ import annotations

from datetime import timedelta
from typing import Self

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now
from django.urls import reverse
from typing_extensions import override

from dashboard.models.people import Team, Teams
from dashboard.models.profile import Profile
from probes.target import Provider

TTL_MIN, TTL_MAX = timedelta(minutes=5), timedelta(days=30)


class EndpointQuerySet(models.QuerySet["Endpoint"]):
    def kept(self) -> Self:
        return self.filter(removed_at=None)

    def of_teams(self, teams: Teams) -> Self:
        """Endpoints of those teams; None means all (`core.permissions.Actor.teams`)."""
        return self if teams is None else self.filter(team__in=teams)


class Endpoint(models.Model):
    """A registered endpoint, and when it is due."""

    slug = models.SlugField(max_length=60)
    provider = models.CharField(max_length=32, choices=[(p.value, p.value) for p in Provider])
    base_url = models.CharField("base URL", max_length=2048)
    model = models.CharField(max_length=200)
    # Added to every request; must not contain secrets.
    options = models.JSONField("request options", default=dict, blank=True)
    # The name of a dialect (probes.dialects); empty is the provider's own.
    dialect = models.CharField(max_length=32, default="", db_default="", blank=True)
    # The SHA-256 of a template that the endpoint does not show; one that it shows wins.
    chat_template_hash = models.CharField(
        "chat template hash", max_length=64, default="", db_default="", blank=True
    )
    ttl = models.DurationField("time to live", default=timedelta(hours=6))
    max_concurrency = models.PositiveSmallIntegerField(
        "requests at once", default=4, validators=[MinValueValidator(1), MaxValueValidator(64)]
    )
    enabled = models.BooleanField("probe on schedule", default=True)
    # Checked by dashboard.endpoints.tags. Lists are searched, filtered and grouped by them.
    tags = ArrayField(models.CharField(max_length=40), default=list, db_default=[], blank=True)
    # Without a team, only roles that hold everywhere apply.
    team = models.ForeignKey(Team, models.PROTECT, null=True, blank=True, related_name="endpoints")
    # The limits of probing per day (UTC); null is no limit.
    daily_requests = models.PositiveIntegerField("requests a day", null=True, blank=True)
    daily_tokens = models.PositiveBigIntegerField("tokens a day", null=True, blank=True)
    # The price per million tokens; null is unknown. The currency is a label, never converted.
    price_input = models.DecimalField(
        "price of input", max_digits=12, decimal_places=6, null=True, blank=True
    )
    price_output = models.DecimalField(
        "price of output", max_digits=12, decimal_places=6, null=True, blank=True
    )
    currency = models.CharField(max_length=8, default="USD", db_default="USD")
    # The day whose budget has no room for another run.
    spent_out_on = models.DateField(null=True)

    next_due_at = models.DateTimeField(db_default=Now())
    # Why the next run is due: the trigger that schedule_due gives it.
    next_trigger = models.CharField(max_length=16, db_default="baseline")
    last_finished_at = models.DateTimeField(null=True)
    # Runs in a row that ended without a verdict; the wait before the next one doubles with it.
    fruitless = models.PositiveSmallIntegerField(default=0)
    # Runs that are still due at once to fill a baseline; at zero, the schedule applies.
    onboarding_left = models.PositiveSmallIntegerField(default=0)

    created_at = models.DateTimeField(db_default=Now())
    updated_at = models.DateTimeField(db_default=Now())
    removed_at = models.DateTimeField(null=True)

    objects = EndpointQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["slug"], condition=Q(removed_at=None), name="endpoint_slug_once"
            ),
            models.CheckConstraint(
                condition=Q(ttl__gte=TTL_MIN) & Q(ttl__lte=TTL_MAX), name="endpoint_ttl_sane"
            ),
        ]
        indexes = [
            # runs.schedule_due: the due ones, oldest first.
            models.Index(
                fields=["next_due_at"],
                condition=Q(enabled=True, removed_at=None),
                name="endpoint_due",
            ),
        ]

    @override
    def __str__(self) -> str:
        return self.slug

    def get_absolute_url(self) -> str:
        return reverse("endpoint", args=[self.slug])

    @property
    def profile(self) -> Profile:
        """The profile of the current key: the one that is probed."""
        return self.profiles.get(ended_at=None)

    @property
    def profile_in_force(self) -> Profile:
        """The profile that the policy follows: an older one until the current one is promoted."""
        return self.profiles.get(in_force=True)


class Credential(models.Model):
    """An endpoint's API key, encrypted with CREDENTIAL_KEYS and bound to its origin."""

    endpoint = models.OneToOneField(Endpoint, models.CASCADE, primary_key=True)
    # scheme://host:port it may be sent to; the encryption is bound to it.
    origin = models.CharField(max_length=300)
    sealed = models.BinaryField()
    hint = models.CharField(max_length=4, blank=True)
    created_at = models.DateTimeField(db_default=Now())

    @override
    def __str__(self) -> str:
        return f"credential of {self.endpoint_id}"


class EndpointEdit(models.Model):
    """One edit of an endpoint, append-only, so that charts can show it beside a drop."""

    endpoint = models.ForeignKey(Endpoint, models.CASCADE, related_name="edits")
    # Per changed field: its name, the old and the new value as text.
    changes = models.JSONField()
    by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True)
    at = models.DateTimeField(db_default=Now())

    class Meta:
        indexes = [
            # The list of changes on an endpoint's page, newest first.
            models.Index(fields=["endpoint", "-at"], name="endpoint_edit_newest"),
        ]

    @override
    def __str__(self) -> str:
        return f"edit of endpoint {self.endpoint_id}"


class Applied(models.Model):
    """The fields that the last applied file set. A difference means a later edit in the product."""

    endpoint = models.OneToOneField(
        Endpoint, models.CASCADE, primary_key=True, related_name="applied"
    )
    # In the file's format, as dashboard/endpoints/as_code/fields.py writes it.
    fields = models.JSONField()
    at = models.DateTimeField(db_default=Now())
    # None if a command did it.
    by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True)

    @override
    def __str__(self) -> str:
        return f"what a file says of {self.endpoint_id}"


class NoteQuerySet(models.QuerySet["Note"]):
    def kept(self) -> Self:
        return self.filter(removed_at=None)

    def newest_first(self) -> Self:
        return self.order_by("-at", "-id")


class Note(models.Model):
    """A note on an endpoint's timeline, written by a person or by the API."""

    endpoint = models.ForeignKey(Endpoint, models.CASCADE, related_name="notes")
    # The time that the note is about.
    at = models.DateTimeField()
    text = models.CharField(max_length=500)
    link = models.CharField(max_length=500, blank=True)
    author = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="notes"
    )
    created_at = models.DateTimeField(db_default=Now())
    removed_at = models.DateTimeField(null=True)
    removed_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="notes_removed"
    )

    objects = NoteQuerySet.as_manager()

    class Meta:
        indexes = [
            # The marks of a chart and the list beside it: one endpoint, a span of time.
            models.Index(
                fields=["endpoint", "-at"],
                condition=models.Q(removed_at=None),
                name="note_of_endpoint",
            ),
        ]

    @override
    def __str__(self) -> str:
        return f"note {self.pk}"
