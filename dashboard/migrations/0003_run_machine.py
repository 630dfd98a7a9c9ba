"""Triggers, caps, budgets and what a run leads to; see dashboard/services/runs.py."""

from __future__ import annotations

import django.db.models.deletion
import django.db.models.functions.datetime
from django.conf import settings
from django.db import migrations, models

# Verdicts may carry a parser now; facts and requests are what the judges left behind.
ATTEMPT = """
ALTER TABLE dashboard_attempt ADD COLUMN facts jsonb NOT NULL DEFAULT '{}',
    ADD COLUMN requests integer NOT NULL DEFAULT 1
"""
# What is under way at this moment is queued again, since it holds no place of its provider.
RUNS = """
UPDATE dashboard_run r SET provider = p.provider, done = LEAST(r.planned, (
    SELECT count(*) FROM dashboard_attempt a WHERE a.run_id = r.id AND a.run_at = r.created_at))
FROM dashboard_profile p WHERE p.id = r.profile_id;
UPDATE dashboard_run SET state = 'queued', dispatched_at = NULL, lease_owner = NULL,
    lease_token = NULL, lease_expires_at = NULL
WHERE state IN ('leased', 'running');
UPDATE dashboard_endpoint SET next_trigger = 'ttl' WHERE last_finished_at IS NOT NULL;
"""


class Migration(migrations.Migration):
    dependencies = [
        ("dashboard", "0002_attempts_evidence_observations"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.RunSQL(
            ATTEMPT, "ALTER TABLE dashboard_attempt DROP COLUMN facts, DROP COLUMN requests"
        ),
        migrations.CreateModel(
            name="FingerprintChange",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("fact", models.CharField(max_length=60)),
                ("before", models.TextField()),
                ("after", models.TextField()),
                ("at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
            ],
        ),
        migrations.CreateModel(
            name="Pulse",
            fields=[
                ("duty", models.CharField(max_length=40, primary_key=True, serialize=False)),
                ("at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
            ],
        ),
        migrations.CreateModel(
            name="Spend",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "endpoint_id",
                        "day",
                        blank=True,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                (
                    "endpoint",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="spends",
                        to="dashboard.endpoint",
                    ),
                ),
                ("day", models.DateField()),
                ("requests", models.PositiveIntegerField()),
                ("tokens", models.PositiveBigIntegerField()),
            ],
        ),
        migrations.AddField(
            model_name="endpoint",
            name="daily_requests",
            field=models.PositiveIntegerField(blank=True, null=True, verbose_name="requests a day"),
        ),
        migrations.AddField(
            model_name="endpoint",
            name="daily_tokens",
            field=models.PositiveBigIntegerField(
                blank=True, null=True, verbose_name="tokens a day"
            ),
        ),
        migrations.AddField(
            model_name="endpoint",
            name="spent_out_on",
            field=models.DateField(null=True),
        ),
        migrations.AddField(
            model_name="endpoint",
            name="next_trigger",
            field=models.CharField(db_default="baseline", max_length=16),
        ),
        migrations.AddField(
            model_name="endpoint",
            name="recovery_left",
            field=models.PositiveSmallIntegerField(db_default=0),
        ),
        migrations.AddField(
            model_name="profile",
            name="capabilities",
            field=models.JSONField(db_default={}),
        ),
        migrations.AddField(
            model_name="profile",
            name="facts_seen",
            field=models.JSONField(db_default={}),
        ),
        migrations.AddField(
            model_name="profile",
            name="probe_version",
            field=models.CharField(db_default="", max_length=40),
        ),
        migrations.AddField(
            model_name="profile",
            name="stage",
            field=models.CharField(
                choices=[
                    ("shadow", "Shadow"),
                    ("read_only", "Read Only"),
                    ("write", "Write"),
                    ("full", "Full"),
                    ("rejected", "Rejected"),
                    ("rolled_back", "Rolled Back"),
                ],
                db_default="shadow",
                max_length=16,
            ),
        ),
        migrations.AddField(
            model_name="profile",
            name="verified_at",
            field=models.DateTimeField(null=True),
        ),
        migrations.AddField(
            model_name="run",
            name="done",
            field=models.PositiveIntegerField(db_default=0),
        ),
        migrations.AddField(
            model_name="run",
            name="fingerprint",
            field=models.JSONField(null=True),
        ),
        migrations.AddField(
            model_name="run",
            name="fingerprint_changed",
            field=models.BooleanField(db_default=False),
        ),
        migrations.AddField(
            model_name="run",
            name="provider",
            field=models.CharField(db_default="", max_length=32),
        ),
        migrations.AddField(
            model_name="run",
            name="requests",
            field=models.PositiveIntegerField(db_default=0),
        ),
        migrations.AddField(
            model_name="run",
            name="reserved_on",
            field=models.DateField(null=True),
        ),
        migrations.AddField(
            model_name="run",
            name="reserved_requests",
            field=models.PositiveIntegerField(db_default=0),
        ),
        migrations.AddField(
            model_name="run",
            name="reserved_tokens",
            field=models.PositiveBigIntegerField(db_default=0),
        ),
        migrations.AddField(
            model_name="run",
            name="simulated",
            field=models.BooleanField(db_default=False),
        ),
        migrations.AddField(
            model_name="run",
            name="slot",
            field=models.PositiveSmallIntegerField(null=True),
        ),
        migrations.AddField(
            model_name="worker",
            name="suite_version",
            field=models.CharField(db_default="", max_length=40),
        ),
        migrations.AddIndex(
            model_name="run",
            index=models.Index(
                condition=models.Q(("state__in", ("finished", "failed", "abandoned"))),
                fields=["finished_at"],
                name="run_ended_lately",
            ),
        ),
        migrations.RemoveConstraint(model_name="run", name="run_one_active"),
        migrations.AddConstraint(
            model_name="run",
            constraint=models.UniqueConstraint(
                condition=models.Q(("finished_at", None)),
                fields=("endpoint",),
                name="run_one_active",
            ),
        ),
        migrations.AddConstraint(
            model_name="run",
            constraint=models.UniqueConstraint(
                condition=models.Q(("state__in", ("leased", "running"))),
                fields=("provider", "slot"),
                name="run_provider_slot",
            ),
        ),
        migrations.AddField(
            model_name="fingerprintchange",
            name="profile",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE,
                related_name="fingerprint_changes",
                to="dashboard.profile",
            ),
        ),
        migrations.AddField(
            model_name="fingerprintchange",
            name="run",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE,
                related_name="fingerprint_changes",
                to="dashboard.run",
            ),
        ),
        migrations.AddIndex(
            model_name="fingerprintchange",
            index=models.Index(fields=["profile", "at"], name="fingerprint_change_chart"),
        ),
        migrations.RunSQL(RUNS, migrations.RunSQL.noop),
    ]
