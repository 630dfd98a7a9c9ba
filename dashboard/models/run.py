"""Runs: the work to do, what a run measured and cost, and the workers that carry it out."""

from __future__ import annotations

from datetime import UTC
from typing import Self

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now, TruncDate
from django.urls import reverse
from typing_extensions import override

from dashboard.models.endpoint import Endpoint
from dashboard.models.profile import Profile


class State(models.TextChoices):
    QUEUED = "queued"
    LEASED = "leased"
    RUNNING = "running"
    FINISHED = "finished"  # a verdict exists, however badly the model did
    FAILED = "failed"  # there is none, and we know why
    ABANDONED = "abandoned"  # there is none, and we gave up


ACTIVE = (State.QUEUED, State.LEASED, State.RUNNING)
HELD = (State.LEASED, State.RUNNING)
ENDED = (State.FINISHED, State.FAILED, State.ABANDONED)
# The void_kind of a run that the endpoint's daily budget kept from starting.
OVER_BUDGET = "over_budget"


class Trigger(models.TextChoices):
    TTL = "ttl"
    KEY_CHANGE = "key_change"
    FINGERPRINT = "fingerprint"
    BASELINE = "baseline"
    CONFIRM = "confirm"
    RECOVERY = "recovery"
    MANUAL = "manual"
    API = "api"


# The lowest runs first: people do not wait for schedules.
PRIORITIES = {
    Trigger.MANUAL: 1,
    Trigger.API: 2,
    Trigger.KEY_CHANGE: 3,
    Trigger.CONFIRM: 3,
    Trigger.FINGERPRINT: 4,
    Trigger.RECOVERY: 4,
    Trigger.BASELINE: 4,
    Trigger.TTL: 5,
}


class RunQuerySet(models.QuerySet["Run"]):
    def of(self, endpoint: Endpoint) -> Self:
        return self.filter(endpoint=endpoint)

    def active(self) -> Self:
        return self.filter(finished_at=None)

    def newest_first(self) -> Self:
        return self.order_by("-id")


class Run(models.Model):
    """One execution of a suite. The row is the obligation; a queue message only points to it."""

    endpoint = models.ForeignKey(Endpoint, models.CASCADE, related_name="runs")
    profile = models.ForeignKey(Profile, models.CASCADE, related_name="runs")
    key_epoch = models.PositiveIntegerField()
    # The slot this run fills: (endpoint, epoch, trigger, due_at, seq) is filled once.
    trigger = models.CharField(max_length=16, choices=Trigger)
    due_at = models.DateTimeField()
    seq = models.PositiveIntegerField(db_default=0)

    # A copy of the profile's; the cap on concurrent runs counts by it.
    provider = models.CharField(max_length=32, db_default="")
    suite = models.CharField(max_length=16)
    suite_version = models.CharField(max_length=40)
    seed = models.BigIntegerField()
    # The number of attempts in the suite: the total of the progress bar.
    planned = models.PositiveIntegerField()
    done = models.PositiveIntegerField(db_default=0)
    # History that was generated with simulated vendors and a simulated clock.
    simulated = models.BooleanField(db_default=False)

    state = models.CharField(max_length=16, choices=State, db_default=State.QUEUED.value)
    reason = models.TextField(blank=True, db_default="")
    # The kind of finding that left it without a verdict, or "over_budget".
    void_kind = models.CharField(max_length=40, blank=True, db_default="")
    claims = models.PositiveSmallIntegerField(db_default=0)
    max_claims = models.PositiveSmallIntegerField(db_default=5)
    not_before = models.DateTimeField(db_default=Now())
    priority = models.PositiveSmallIntegerField(db_default=5)  # the lowest runs first

    lease_owner = models.CharField(max_length=200, null=True)  # noqa: DJ001
    lease_token = models.BigIntegerField(null=True)
    lease_expires_at = models.DateTimeField(null=True)
    dispatched_at = models.DateTimeField(null=True)
    # One of the provider's slots for concurrent runs.
    slot = models.PositiveSmallIntegerField(null=True)
    # The part of the endpoint's budget of that day that is reserved while the run is active.
    reserved_requests = models.PositiveIntegerField(db_default=0)
    reserved_tokens = models.PositiveBigIntegerField(db_default=0)
    reserved_on = models.DateField(null=True)
    # The facts that the endpoint reported before the first probe; null until then.
    fingerprint = models.JSONField(null=True)
    fingerprint_changed = models.BooleanField(db_default=False)

    requested_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True)
    created_at = models.DateTimeField(db_default=Now())
    started_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(null=True)

    # Written once, by the finishing transaction.
    # The probing interval at the time; the detector's threshold depends on it.
    every = models.DurationField(null=True)
    passed = models.PositiveIntegerField(db_default=0)
    failed = models.PositiveIntegerField(db_default=0)
    void = models.PositiveIntegerField(db_default=0)
    requests = models.PositiveIntegerField(db_default=0)
    retried = models.JSONField(db_default={})  # {"429": 28}: answers that were retried, by status
    input_tokens = models.PositiveBigIntegerField(db_default=0)
    output_tokens = models.PositiveBigIntegerField(db_default=0)
    # Sums over the answers, and over attempts that did not pass: charts read these, never
    # attempts. Null if no answer came, or if the run is older than these columns.
    latency_p50_ms = models.PositiveIntegerField(null=True)
    latency_p95_ms = models.PositiveIntegerField(null=True)
    lost_tokens = models.PositiveBigIntegerField(null=True)
    lost_ms = models.PositiveBigIntegerField(null=True)

    objects = RunQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["endpoint", "key_epoch", "trigger", "due_at", "seq"], name="run_slot_once"
            ),
            # By finished_at, which is equivalent to the state: otherwise Postgres would use this
            # index for claims too, which need run_claimable and its order.
            models.UniqueConstraint(
                fields=["endpoint"], condition=Q(finished_at=None), name="run_one_active"
            ),
            # The cap on concurrent runs of one provider, enforced by the database.
            models.UniqueConstraint(
                fields=["provider", "slot"], condition=Q(state__in=HELD), name="run_provider_slot"
            ),
            models.CheckConstraint(condition=Q(state__in=State.values), name="run_state_known"),
            models.CheckConstraint(
                condition=Q(state__in=HELD, lease_expires_at__isnull=False)
                | ~Q(state__in=HELD) & Q(lease_expires_at__isnull=True),
                name="run_leased_iff_lease",
            ),
            models.CheckConstraint(
                condition=Q(state__in=ENDED, finished_at__isnull=False)
                | ~Q(state__in=ENDED) & Q(finished_at__isnull=True),
                name="run_ended_iff_finished_at",
            ),
        ]
        indexes = [
            # services.claim_run and schedule.claim_wakeups.
            models.Index(
                fields=["priority", "not_before"],
                condition=Q(state=State.QUEUED),
                name="run_claimable",
            ),
            # schedule.reap_expired_leases.
            models.Index(
                fields=["lease_expires_at"],
                condition=Q(state__in=HELD),
                name="run_expiring",
            ),
            # The system page: the runs that ended in the last hour.
            models.Index(
                fields=["finished_at"], condition=Q(state__in=ENDED), name="run_ended_lately"
            ),
            # The runs table of an endpoint's page, newest first.
            models.Index(fields=["endpoint", "-id"], name="run_of_endpoint"),
            # The charts of an endpoint: a span of time, which may lie far back.
            models.Index(
                fields=["endpoint", "-finished_at"],
                condition=Q(finished_at__isnull=False),
                name="run_ended_of_endpoint",
            ),
        ]

    @override
    def __str__(self) -> str:
        return f"run {self.pk}"

    def get_absolute_url(self) -> str:
        return reverse("run", args=[self.pk])

    @property
    def is_active(self) -> bool:
        return self.state in ACTIVE


class RunMetricQuerySet(models.QuerySet["RunMetric"]):
    def of(self, endpoint: Endpoint) -> Self:
        return self.filter(profile__endpoint=endpoint)


class RunMetric(models.Model):
    """A run's figures, one row per metric. Charts and the detector read them."""

    pk = models.CompositePrimaryKey("run_id", "metric")
    run = models.ForeignKey(Run, models.CASCADE, related_name="metrics")
    profile = models.ForeignKey(Profile, models.CASCADE, related_name="metrics")
    metric = models.CharField(max_length=32)
    trials = models.PositiveIntegerField()
    failures = models.PositiveIntegerField()
    # Over the probes that every suite has: the detector compares these, since other probes are
    # harder or easier. `refused` of all trials were refused by the endpoint.
    watched_trials = models.PositiveIntegerField(db_default=0)
    watched_failures = models.PositiveIntegerField(db_default=0)
    refused = models.PositiveIntegerField(db_default=0)
    finished_at = models.DateTimeField()

    objects = RunMetricQuerySet.as_manager()

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=models.Q(trials__gte=1, failures__lte=models.F("trials")),
                name="run_metric_failures_within_trials",
            ),
        ]
        indexes = [
            # A chart: one profile, one metric, a span of time, from the index alone.
            models.Index(
                fields=["profile", "metric", "finished_at"],
                include=["run", "trials", "failures"],
                name="run_metric_chart",
            ),
        ]

    @override
    def __str__(self) -> str:
        return f"{self.metric} of run {self.run_id}"


class SpendQuerySet(models.QuerySet["Spend"]):
    def today(self, endpoint: Endpoint) -> Spend | None:
        """The endpoint's cost since midnight (UTC)."""
        return self.filter(endpoint=endpoint, day=TruncDate(Now(), tzinfo=UTC)).first()


class Spend(models.Model):
    """The cost of probing an endpoint on one day, including what a run has reserved."""

    pk = models.CompositePrimaryKey("endpoint_id", "day")
    endpoint = models.ForeignKey(Endpoint, models.CASCADE, related_name="spends")
    day = models.DateField()  # UTC
    requests = models.PositiveIntegerField()
    tokens = models.PositiveBigIntegerField()

    objects = SpendQuerySet.as_manager()

    @override
    def __str__(self) -> str:
        return f"spend of endpoint {self.endpoint_id} on {self.day}"


class Worker(models.Model):
    """When each worker last polled for work."""

    name = models.CharField(max_length=200, primary_key=True)
    started_at = models.DateTimeField(db_default=Now())
    seen_at = models.DateTimeField(db_default=Now())
    suite_version = models.CharField(max_length=40, db_default="")

    @override
    def __str__(self) -> str:
        return self.name


class Pulse(models.Model):
    """When each recurring duty was last done. The system page reads it."""

    duty = models.CharField(max_length=40, primary_key=True)
    at = models.DateTimeField(db_default=Now())

    @override
    def __str__(self) -> str:
        return self.duty


class FingerprintChange(models.Model):
    """A new fingerprint under the same key. It may explain a change of the figures."""

    profile = models.ForeignKey(Profile, models.CASCADE, related_name="fingerprint_changes")
    run = models.ForeignKey(Run, models.CASCADE, related_name="fingerprint_changes")
    fact = models.CharField(max_length=60)
    before = models.TextField()
    after = models.TextField()
    at = models.DateTimeField(db_default=Now())

    class Meta:
        indexes = [
            # The marks of a chart: one profile, a span of time.
            models.Index(fields=["profile", "at"], name="fingerprint_change_chart"),
        ]

    @override
    def __str__(self) -> str:
        return f"{self.fact} of profile {self.profile_id}"
