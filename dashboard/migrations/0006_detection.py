"""Detection, incidents, modes, policies and the outbox; see docs/detection.md."""

from __future__ import annotations

import django.db.models.deletion
import django.db.models.functions.datetime
from django.conf import settings
from django.db import migrations, models

# The figures of light runs are of the questions that are watched; those of full runs are not.
RUNS = """
UPDATE dashboard_runmetric m SET watched_trials = m.trials, watched_failures = m.failures
FROM dashboard_run r WHERE r.id = m.run_id AND r.suite = 'light';
UPDATE dashboard_run r SET every = e.ttl FROM dashboard_endpoint e
WHERE e.id = r.endpoint_id AND r.finished_at IS NOT NULL;
UPDATE dashboard_profile SET text_format = COALESCE(capabilities -> 'parser' ->> 'value', '')
WHERE capabilities ? 'parser';
"""


class Migration(migrations.Migration):
    dependencies = [
        ("dashboard", "0005_api_tokens"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.RemoveField(
            model_name="endpoint",
            name="recovery_left",
        ),
        migrations.AddField(
            model_name="profile",
            name="text_format",
            field=models.CharField(max_length=40, null=True),
        ),
        migrations.AddField(
            model_name="run",
            name="every",
            field=models.DurationField(null=True),
        ),
        migrations.AddField(
            model_name="runmetric",
            name="refused",
            field=models.PositiveIntegerField(db_default=0),
        ),
        migrations.AddField(
            model_name="runmetric",
            name="watched_failures",
            field=models.PositiveIntegerField(db_default=0),
        ),
        migrations.AddField(
            model_name="runmetric",
            name="watched_trials",
            field=models.PositiveIntegerField(db_default=0),
        ),
        migrations.CreateModel(
            name="Incident",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("metric", models.CharField(max_length=32)),
                (
                    "lane",
                    models.SmallIntegerField(choices=[(0, "Probe"), (1, "Live")], db_default=0),
                ),
                ("severity", models.PositiveSmallIntegerField()),
                ("worst", models.PositiveSmallIntegerField()),
                ("refused", models.BooleanField(default=False)),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("open", "Open"),
                            ("recovered", "Recovered"),
                            ("accepted", "Accepted"),
                            ("superseded", "Superseded"),
                        ],
                        default="open",
                        max_length=16,
                    ),
                ),
                ("figures", models.JSONField(default=dict)),
                ("opened_at", models.DateTimeField()),
                ("opened_by", models.BigIntegerField()),
                ("ended_at", models.DateTimeField(null=True)),
                ("release_wanted", models.BooleanField(default=False)),
                ("acknowledged_at", models.DateTimeField(null=True)),
                (
                    "acknowledged_by",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "profile",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="incidents",
                        to="dashboard.profile",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="ModeSwitch",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "mode",
                    models.CharField(
                        choices=[
                            ("verbatim_history", "verbatim_history"),
                            ("no_parallel", "no_parallel"),
                            ("no_streaming_tools", "no_streaming_tools"),
                            ("strict_schema", "strict_schema"),
                            ("strong_validation", "strong_validation"),
                            ("read_only_tools", "read_only_tools"),
                            ("no_tools", "no_tools"),
                        ],
                        max_length=24,
                    ),
                ),
                ("reason", models.TextField()),
                ("figures", models.JSONField(default=dict)),
                (
                    "on_at",
                    models.DateTimeField(db_default=django.db.models.functions.datetime.Now()),
                ),
                ("expires_at", models.DateTimeField(null=True)),
                ("off_at", models.DateTimeField(null=True)),
                ("off_reason", models.TextField(blank=True)),
                (
                    "author",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="switched_on",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "incident",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="switches",
                        to="dashboard.incident",
                    ),
                ),
                (
                    "off_by",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="switched_off",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "profile",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="switches",
                        to="dashboard.profile",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="Notice",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "kind",
                    models.CharField(
                        choices=[
                            ("incident.opened", "Opened"),
                            ("incident.escalated", "Escalated"),
                            ("incident.recovered", "Recovered"),
                            ("mode.changed", "Mode Changed"),
                            ("decision.wanted", "Decision Wanted"),
                            ("incident.reminder", "Reminder"),
                            ("incident.flapping", "Flapping"),
                            ("test", "Test"),
                        ],
                        max_length=24,
                    ),
                ),
                ("body", models.JSONField()),
                ("at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ("routed_at", models.DateTimeField(null=True)),
                (
                    "endpoint",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="notices",
                        to="dashboard.endpoint",
                    ),
                ),
                (
                    "incident",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="notices",
                        to="dashboard.incident",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="Policy",
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
                ("version", models.BigIntegerField()),
                ("body", models.JSONField()),
                ("good_until", models.DateTimeField(null=True)),
                (
                    "changed_at",
                    models.DateTimeField(db_default=django.db.models.functions.datetime.Now()),
                ),
            ],
            options={
                "indexes": [
                    models.Index(
                        condition=models.Q(("good_until__isnull", False)),
                        fields=["good_until"],
                        name="policy_good_until",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="PolicyVersion",
            fields=[
                ("version", models.BigIntegerField(primary_key=True, serialize=False)),
                ("body", models.JSONField()),
                ("at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                (
                    "endpoint",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="policy_versions",
                        to="dashboard.endpoint",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="Watch",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "lane",
                    models.SmallIntegerField(choices=[(0, "Probe"), (1, "Live")], db_default=0),
                ),
                ("state", models.JSONField(default=dict)),
                ("pending", models.JSONField(default=dict)),
                (
                    "updated_at",
                    models.DateTimeField(db_default=django.db.models.functions.datetime.Now()),
                ),
                (
                    "profile",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="watches",
                        to="dashboard.profile",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="WatchEvent",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("metric", models.CharField(max_length=32)),
                (
                    "lane",
                    models.SmallIntegerField(choices=[(0, "Probe"), (1, "Live")], db_default=0),
                ),
                ("kind", models.CharField(max_length=20)),
                ("severity", models.PositiveSmallIntegerField(null=True)),
                ("at", models.DateTimeField()),
                ("after", models.BigIntegerField()),
                ("figures", models.JSONField(default=dict)),
                ("note", models.TextField(blank=True)),
                (
                    "by",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "incident",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="events",
                        to="dashboard.incident",
                    ),
                ),
                (
                    "profile",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="events",
                        to="dashboard.profile",
                    ),
                ),
            ],
        ),
        migrations.AddIndex(
            model_name="incident",
            index=models.Index(fields=["-opened_at"], name="incident_newest"),
        ),
        migrations.AddConstraint(
            model_name="incident",
            constraint=models.UniqueConstraint(
                condition=models.Q(("ended_at", None)),
                fields=("profile", "metric", "lane"),
                name="incident_one_open",
            ),
        ),
        migrations.AddConstraint(
            model_name="incident",
            constraint=models.UniqueConstraint(
                fields=("profile", "metric", "lane", "opened_by"), name="incident_once"
            ),
        ),
        migrations.AddConstraint(
            model_name="incident",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("ended_at", None), ("state", "open")),
                    models.Q(
                        models.Q(("state", "open"), _negated=True), ("ended_at__isnull", False)
                    ),
                    _connector="OR",
                ),
                name="incident_open_iff_not_ended",
            ),
        ),
        migrations.AddIndex(
            model_name="modeswitch",
            index=models.Index(
                condition=models.Q(("off_at", None)), fields=["profile"], name="mode_switch_on"
            ),
        ),
        migrations.AddIndex(
            model_name="modeswitch",
            index=models.Index(
                condition=models.Q(("expires_at__isnull", False), ("off_at", None)),
                fields=["expires_at"],
                name="mode_switch_expiring",
            ),
        ),
        migrations.AddConstraint(
            model_name="modeswitch",
            constraint=models.UniqueConstraint(
                condition=models.Q(("incident", None), ("off_at", None)),
                fields=("profile", "mode"),
                name="mode_switch_one_manual",
            ),
        ),
        migrations.AddConstraint(
            model_name="modeswitch",
            constraint=models.UniqueConstraint(
                condition=models.Q(("incident__isnull", False), ("off_at", None)),
                fields=("incident", "mode"),
                name="mode_switch_one_automatic",
            ),
        ),
        migrations.AddIndex(
            model_name="notice",
            index=models.Index(
                condition=models.Q(("routed_at", None)), fields=["id"], name="notice_to_route"
            ),
        ),
        migrations.AddIndex(
            model_name="notice",
            index=models.Index(fields=["endpoint", "-id"], name="notice_of_endpoint"),
        ),
        migrations.AddIndex(
            model_name="policyversion",
            index=models.Index(fields=["endpoint", "-version"], name="policy_version_newest"),
        ),
        migrations.AddConstraint(
            model_name="watch",
            constraint=models.UniqueConstraint(fields=("profile", "lane"), name="watch_once"),
        ),
        migrations.AddIndex(
            model_name="watchevent",
            index=models.Index(fields=["profile", "-id"], name="watch_event_of_profile"),
        ),
        migrations.RunSQL(
            "CREATE SEQUENCE dashboard_policy_number", "DROP SEQUENCE dashboard_policy_number"
        ),
        migrations.RunSQL(RUNS, migrations.RunSQL.noop),
    ]
