from __future__ import annotations

import datetime

import django.core.validators
import django.db.models.deletion
import django.db.models.functions.datetime
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="Endpoint",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("slug", models.SlugField(max_length=60)),
                (
                    "provider",
                    models.CharField(
                        choices=[
                            ("anthropic", "anthropic"),
                            ("openai", "openai"),
                            ("openai_responses", "openai_responses"),
                            ("deepseek", "deepseek"),
                            ("minimax", "minimax"),
                            ("glm", "glm"),
                            ("qwen", "qwen"),
                            ("kimi", "kimi"),
                            ("mistral", "mistral"),
                            ("gemini", "gemini"),
                            ("ollama", "ollama"),
                        ],
                        max_length=32,
                    ),
                ),
                ("base_url", models.CharField(max_length=2048, verbose_name="base URL")),
                ("model", models.CharField(max_length=200)),
                (
                    "options",
                    models.JSONField(blank=True, default=dict, verbose_name="request options"),
                ),
                (
                    "ttl",
                    models.DurationField(
                        default=datetime.timedelta(seconds=21600), verbose_name="time to live"
                    ),
                ),
                (
                    "max_concurrency",
                    models.PositiveSmallIntegerField(
                        default=4,
                        validators=[
                            django.core.validators.MinValueValidator(1),
                            django.core.validators.MaxValueValidator(64),
                        ],
                        verbose_name="requests at once",
                    ),
                ),
                ("enabled", models.BooleanField(default=True, verbose_name="probe on schedule")),
                (
                    "next_due_at",
                    models.DateTimeField(db_default=django.db.models.functions.datetime.Now()),
                ),
                ("last_finished_at", models.DateTimeField(null=True)),
                ("fruitless", models.PositiveSmallIntegerField(default=0)),
                ("onboarding_left", models.PositiveSmallIntegerField(default=0)),
                (
                    "created_at",
                    models.DateTimeField(db_default=django.db.models.functions.datetime.Now()),
                ),
                (
                    "updated_at",
                    models.DateTimeField(db_default=django.db.models.functions.datetime.Now()),
                ),
                ("removed_at", models.DateTimeField(null=True)),
            ],
        ),
        migrations.AddIndex(
            model_name="endpoint",
            index=models.Index(
                condition=models.Q(("enabled", True), ("removed_at", None)),
                fields=["next_due_at"],
                name="endpoint_due",
            ),
        ),
        migrations.AddConstraint(
            model_name="endpoint",
            constraint=models.UniqueConstraint(
                condition=models.Q(("removed_at", None)),
                fields=("slug",),
                name="endpoint_slug_once",
            ),
        ),
        migrations.AddConstraint(
            model_name="endpoint",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("ttl__gte", datetime.timedelta(seconds=300)),
                    ("ttl__lte", datetime.timedelta(days=30)),
                ),
                name="endpoint_ttl_sane",
            ),
        ),
        migrations.CreateModel(
            name="Credential",
            fields=[
                (
                    "endpoint",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        serialize=False,
                        to="dashboard.endpoint",
                    ),
                ),
                ("origin", models.CharField(max_length=300)),
                ("sealed", models.BinaryField()),
                ("hint", models.CharField(blank=True, max_length=4)),
                (
                    "created_at",
                    models.DateTimeField(db_default=django.db.models.functions.datetime.Now()),
                ),
            ],
        ),
        migrations.CreateModel(
            name="Profile",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("epoch", models.PositiveIntegerField()),
                ("provider", models.CharField(max_length=32)),
                ("model", models.CharField(max_length=200)),
                ("endpoint_url", models.CharField(max_length=2048)),
                ("chat_template_hash", models.CharField(blank=True, max_length=64)),
                ("key_hash", models.BinaryField(max_length=32)),
                ("fingerprint", models.JSONField(default=dict)),
                (
                    "created_at",
                    models.DateTimeField(db_default=django.db.models.functions.datetime.Now()),
                ),
                ("ended_at", models.DateTimeField(null=True)),
                (
                    "endpoint",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="profiles",
                        to="dashboard.endpoint",
                    ),
                ),
            ],
        ),
        migrations.AddConstraint(
            model_name="profile",
            constraint=models.UniqueConstraint(
                fields=("endpoint", "epoch"), name="profile_epoch_once"
            ),
        ),
        migrations.AddConstraint(
            model_name="profile",
            constraint=models.UniqueConstraint(
                condition=models.Q(("ended_at", None)),
                fields=("endpoint",),
                name="profile_one_current",
            ),
        ),
        migrations.CreateModel(
            name="Run",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("key_epoch", models.PositiveIntegerField()),
                (
                    "trigger",
                    models.CharField(
                        choices=[
                            ("ttl", "Ttl"),
                            ("key_change", "Key Change"),
                            ("fingerprint", "Fingerprint"),
                            ("baseline", "Baseline"),
                            ("confirm", "Confirm"),
                            ("recovery", "Recovery"),
                            ("manual", "Manual"),
                            ("api", "Api"),
                        ],
                        max_length=16,
                    ),
                ),
                ("due_at", models.DateTimeField()),
                ("seq", models.PositiveIntegerField(db_default=0)),
                ("suite", models.CharField(max_length=16)),
                ("suite_version", models.CharField(max_length=40)),
                ("seed", models.BigIntegerField()),
                ("planned", models.PositiveIntegerField()),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("queued", "Queued"),
                            ("leased", "Leased"),
                            ("running", "Running"),
                            ("finished", "Finished"),
                            ("failed", "Failed"),
                            ("abandoned", "Abandoned"),
                        ],
                        db_default="queued",
                        max_length=16,
                    ),
                ),
                ("reason", models.TextField(blank=True, db_default="")),
                ("claims", models.PositiveSmallIntegerField(db_default=0)),
                ("max_claims", models.PositiveSmallIntegerField(db_default=5)),
                (
                    "not_before",
                    models.DateTimeField(db_default=django.db.models.functions.datetime.Now()),
                ),
                ("priority", models.PositiveSmallIntegerField(db_default=5)),
                ("lease_owner", models.CharField(max_length=200, null=True)),
                ("lease_token", models.BigIntegerField(null=True)),
                ("lease_expires_at", models.DateTimeField(null=True)),
                ("dispatched_at", models.DateTimeField(null=True)),
                (
                    "created_at",
                    models.DateTimeField(db_default=django.db.models.functions.datetime.Now()),
                ),
                ("started_at", models.DateTimeField(null=True)),
                ("finished_at", models.DateTimeField(null=True)),
                ("passed", models.PositiveIntegerField(db_default=0)),
                ("failed", models.PositiveIntegerField(db_default=0)),
                ("void", models.PositiveIntegerField(db_default=0)),
                ("input_tokens", models.PositiveBigIntegerField(db_default=0)),
                ("output_tokens", models.PositiveBigIntegerField(db_default=0)),
                (
                    "endpoint",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="runs",
                        to="dashboard.endpoint",
                    ),
                ),
                (
                    "profile",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="runs",
                        to="dashboard.profile",
                    ),
                ),
                (
                    "requested_by",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
        ),
        migrations.AddIndex(
            model_name="run",
            index=models.Index(
                condition=models.Q(("state", "queued")),
                fields=["priority", "not_before"],
                name="run_claimable",
            ),
        ),
        migrations.AddIndex(
            model_name="run",
            index=models.Index(
                condition=models.Q(("state__in", ("leased", "running"))),
                fields=["lease_expires_at"],
                name="run_expiring",
            ),
        ),
        migrations.AddIndex(
            model_name="run",
            index=models.Index(fields=["endpoint", "-id"], name="run_of_endpoint"),
        ),
        migrations.AddConstraint(
            model_name="run",
            constraint=models.UniqueConstraint(
                fields=("endpoint", "key_epoch", "trigger", "due_at", "seq"), name="run_slot_once"
            ),
        ),
        migrations.AddConstraint(
            model_name="run",
            constraint=models.UniqueConstraint(
                condition=models.Q(("state__in", ("queued", "leased", "running"))),
                fields=("endpoint",),
                name="run_one_active",
            ),
        ),
        migrations.AddConstraint(
            model_name="run",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    (
                        "state__in",
                        ["queued", "leased", "running", "finished", "failed", "abandoned"],
                    )
                ),
                name="run_state_known",
            ),
        ),
        migrations.AddConstraint(
            model_name="run",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(
                        ("lease_expires_at__isnull", False), ("state__in", ("leased", "running"))
                    ),
                    models.Q(
                        models.Q(("state__in", ("leased", "running")), _negated=True),
                        ("lease_expires_at__isnull", True),
                    ),
                    _connector="OR",
                ),
                name="run_leased_iff_lease",
            ),
        ),
        migrations.AddConstraint(
            model_name="run",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(
                        ("finished_at__isnull", False),
                        ("state__in", ("finished", "failed", "abandoned")),
                    ),
                    models.Q(
                        models.Q(("state__in", ("finished", "failed", "abandoned")), _negated=True),
                        ("finished_at__isnull", True),
                    ),
                    _connector="OR",
                ),
                name="run_ended_iff_finished_at",
            ),
        ),
        migrations.CreateModel(
            name="RunMetric",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "run_id",
                        "metric",
                        blank=True,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("metric", models.CharField(max_length=32)),
                ("trials", models.PositiveIntegerField()),
                ("failures", models.PositiveIntegerField()),
                ("finished_at", models.DateTimeField()),
                (
                    "profile",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="metrics",
                        to="dashboard.profile",
                    ),
                ),
                (
                    "run",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="metrics",
                        to="dashboard.run",
                    ),
                ),
            ],
        ),
        migrations.AddIndex(
            model_name="runmetric",
            index=models.Index(
                fields=["profile", "metric", "finished_at"],
                include=("run", "trials", "failures"),
                name="run_metric_chart",
            ),
        ),
        migrations.AddConstraint(
            model_name="runmetric",
            constraint=models.CheckConstraint(
                condition=models.Q(("failures__lte", models.F("trials")), ("trials__gte", 1)),
                name="run_metric_failures_within_trials",
            ),
        ),
        migrations.CreateModel(
            name="Worker",
            fields=[
                ("name", models.CharField(max_length=200, primary_key=True, serialize=False)),
                (
                    "started_at",
                    models.DateTimeField(db_default=django.db.models.functions.datetime.Now()),
                ),
                (
                    "seen_at",
                    models.DateTimeField(db_default=django.db.models.functions.datetime.Now()),
                ),
            ],
        ),
        migrations.CreateModel(
            name="Evidence",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "sha256",
                        "month",
                        blank=True,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("sha256", models.BinaryField(max_length=32)),
                ("month", models.DateField()),
                ("body", models.BinaryField()),
                ("size", models.IntegerField()),
                ("created_at", models.DateTimeField()),
            ],
            options={
                "db_table": "dashboard_evidence",
                "managed": False,
            },
        ),
        migrations.CreateModel(
            name="Attempt",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "run_id",
                        "probe",
                        "trial",
                        "run_at",
                        blank=True,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("probe", models.TextField()),
                ("trial", models.IntegerField()),
                ("run_at", models.DateTimeField()),
                ("token", models.BigIntegerField()),
                ("outcome", models.TextField()),
                ("findings", models.JSONField()),
                ("verdicts", models.JSONField()),
                ("http_status", models.SmallIntegerField(null=True)),
                ("latency_ms", models.IntegerField(null=True)),
                ("first_byte_ms", models.IntegerField(null=True)),
                ("input_tokens", models.IntegerField(null=True)),
                ("output_tokens", models.IntegerField(null=True)),
                ("fingerprint", models.JSONField()),
                ("evidence_sha256", models.BinaryField(null=True)),
                ("started_at", models.DateTimeField()),
                ("created_at", models.DateTimeField()),
                (
                    "run",
                    models.ForeignKey(
                        db_constraint=False,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="attempts",
                        to="dashboard.run",
                    ),
                ),
            ],
            options={
                "db_table": "dashboard_attempt",
                "managed": False,
            },
        ),
    ]
