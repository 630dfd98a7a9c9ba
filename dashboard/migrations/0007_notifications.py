"""Channels and deliveries; see docs/notifications.md."""

from __future__ import annotations

import datetime

import django.db.models.deletion
import django.db.models.functions.datetime
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("dashboard", "0006_detection"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="Channel",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("name", models.CharField(max_length=80)),
                (
                    "kind",
                    models.CharField(
                        choices=[
                            ("apprise", "Apprise: Slack, e-mail, Teams, Discord and others"),
                            ("webhook", "Signed webhook"),
                        ],
                        max_length=16,
                    ),
                ),
                ("sealed_url", models.BinaryField()),
                ("hint", models.CharField(max_length=300)),
                ("sealed_secret", models.BinaryField(null=True)),
                ("sealed_previous", models.BinaryField(null=True)),
                ("previous_until", models.DateTimeField(null=True)),
                ("kinds", models.JSONField(blank=True, default=list)),
                ("min_severity", models.PositiveSmallIntegerField(default=1)),
                ("quiet_from", models.TimeField(null=True)),
                ("quiet_until", models.TimeField(null=True)),
                ("time_zone", models.CharField(default="UTC", max_length=64)),
                ("remind_every", models.DurationField(null=True)),
                ("group_for", models.DurationField(default=datetime.timedelta(seconds=60))),
                ("enabled", models.BooleanField(default=True)),
                ("note", models.TextField(blank=True)),
                (
                    "created_at",
                    models.DateTimeField(db_default=django.db.models.functions.datetime.Now()),
                ),
                ("removed_at", models.DateTimeField(null=True)),
                (
                    "created_by",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="Delivery",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("waiting", "Waiting"),
                            ("sent", "Sent"),
                            ("failed", "Failed"),
                            ("dropped", "Dropped"),
                        ],
                        default="waiting",
                        max_length=16,
                    ),
                ),
                ("urgent", models.BooleanField(default=False)),
                ("is_test", models.BooleanField(default=False)),
                ("tries", models.PositiveSmallIntegerField(default=0)),
                (
                    "next_try_at",
                    models.DateTimeField(db_default=django.db.models.functions.datetime.Now()),
                ),
                ("last_error", models.TextField(blank=True)),
                ("last_status", models.PositiveSmallIntegerField(null=True)),
                ("webhook_id", models.UUIDField(unique=True)),
                (
                    "created_at",
                    models.DateTimeField(db_default=django.db.models.functions.datetime.Now()),
                ),
                ("sent_at", models.DateTimeField(null=True)),
                ("token", models.PositiveIntegerField(default=0)),
                ("leased_until", models.DateTimeField(null=True)),
                (
                    "channel",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="deliveries",
                        to="dashboard.channel",
                    ),
                ),
                (
                    "notices",
                    models.ManyToManyField(related_name="deliveries", to="dashboard.notice"),
                ),
            ],
        ),
        migrations.AddConstraint(
            model_name="channel",
            constraint=models.UniqueConstraint(
                condition=models.Q(("removed_at", None)), fields=("name",), name="channel_name_once"
            ),
        ),
        migrations.AddConstraint(
            model_name="channel",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    (
                        "kinds__contained_by",
                        [
                            "incident.opened",
                            "incident.escalated",
                            "incident.recovered",
                            "mode.changed",
                            "decision.wanted",
                            "incident.reminder",
                            "incident.flapping",
                        ],
                    )
                ),
                name="channel_kinds_known",
            ),
        ),
        migrations.AddConstraint(
            model_name="channel",
            constraint=models.CheckConstraint(
                condition=models.Q(("min_severity__range", (1, 3))), name="channel_severity_known"
            ),
        ),
        migrations.AddConstraint(
            model_name="channel",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("quiet_from", None), ("quiet_until", None)),
                    models.Q(("quiet_from__isnull", False), ("quiet_until__isnull", False)),
                    _connector="OR",
                ),
                name="channel_quiet_whole",
            ),
        ),
        migrations.AddIndex(
            model_name="delivery",
            index=models.Index(
                condition=models.Q(("state", "waiting")),
                fields=["next_try_at"],
                name="delivery_waiting",
            ),
        ),
        migrations.AddIndex(
            model_name="delivery",
            index=models.Index(fields=["channel", "-id"], name="delivery_of_channel"),
        ),
    ]
