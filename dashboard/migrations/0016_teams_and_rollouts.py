"""Teams, roles, gates and requests for the next stage."""

from __future__ import annotations

import django.db.models.deletion
import django.db.models.functions.datetime
import django.db.models.functions.text
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("dashboard", "0015_endpoint_edits"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="AuditEntry",
            fields=[
                ("id", models.BigIntegerField(primary_key=True, serialize=False)),
                ("at_us", models.BigIntegerField()),
                ("body", models.TextField()),
                ("action", models.CharField(max_length=40)),
                ("actor", models.CharField(max_length=150)),
                ("endpoint", models.CharField(max_length=60)),
                ("team", models.BigIntegerField(null=True)),
            ],
            options={
                "db_table": "dashboard_auditentry",
                "managed": False,
            },
        ),
        migrations.CreateModel(
            name="AuditLink",
            fields=[
                ("seq", models.BigIntegerField(primary_key=True, serialize=False)),
                ("entry_id", models.BigIntegerField(unique=True)),
                ("previous", models.BinaryField()),
                ("digest", models.BinaryField()),
            ],
            options={
                "db_table": "dashboard_auditlink",
                "managed": False,
            },
        ),
        migrations.CreateModel(
            name="GateVersion",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("body", models.JSONField()),
                ("reason", models.TextField()),
                ("at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
            ],
        ),
        migrations.CreateModel(
            name="Grant",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "role",
                    models.CharField(
                        choices=[
                            ("viewer", "Viewer"),
                            ("operator", "Operator"),
                            ("approver", "Approver"),
                        ],
                        max_length=16,
                    ),
                ),
                (
                    "created_at",
                    models.DateTimeField(db_default=django.db.models.functions.datetime.Now()),
                ),
            ],
        ),
        migrations.CreateModel(
            name="RolloutRequest",
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
                        choices=[("stage", "Stage"), ("unpin", "Unpin")],
                        default="stage",
                        max_length=16,
                    ),
                ),
                (
                    "from_stage",
                    models.CharField(
                        choices=[
                            ("shadow", "Shadow"),
                            ("read_only", "Read Only"),
                            ("write", "Write"),
                            ("full", "Full"),
                            ("rejected", "Rejected"),
                            ("rolled_back", "Rolled Back"),
                        ],
                        max_length=16,
                    ),
                ),
                (
                    "to_stage",
                    models.CharField(
                        choices=[
                            ("shadow", "Shadow"),
                            ("read_only", "Read Only"),
                            ("write", "Write"),
                            ("full", "Full"),
                            ("rejected", "Rejected"),
                            ("rolled_back", "Rolled Back"),
                        ],
                        max_length=16,
                    ),
                ),
                ("evidence", models.JSONField()),
                ("digest", models.BinaryField(max_length=32)),
                ("four_eyes", models.BooleanField(default=True)),
                (
                    "requested_at",
                    models.DateTimeField(db_default=django.db.models.functions.datetime.Now()),
                ),
                ("reason", models.TextField()),
                ("expires_at", models.DateTimeField()),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("pending", "Pending"),
                            ("approved", "Approved"),
                            ("rejected", "Rejected"),
                            ("withdrawn", "Withdrawn"),
                            ("voided", "Voided"),
                            ("expired", "Expired"),
                        ],
                        db_default="pending",
                        max_length=16,
                    ),
                ),
                ("decided_at", models.DateTimeField(null=True)),
                ("decision_reason", models.TextField(blank=True)),
                ("changed", models.JSONField(default=list)),
            ],
        ),
        migrations.CreateModel(
            name="Team",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("name", models.CharField(max_length=60)),
                (
                    "created_at",
                    models.DateTimeField(db_default=django.db.models.functions.datetime.Now()),
                ),
            ],
        ),
        migrations.AddField(
            model_name="modeswitch",
            name="pinned",
            field=models.BooleanField(db_default=False),
        ),
        migrations.AddField(
            model_name="profile",
            name="in_force",
            field=models.BooleanField(db_default=False),
        ),
        migrations.AddField(
            model_name="profile",
            name="stage_at",
            field=models.DateTimeField(db_default=django.db.models.functions.datetime.Now()),
        ),
        migrations.AddConstraint(
            model_name="profile",
            constraint=models.UniqueConstraint(
                condition=models.Q(("in_force", True)),
                fields=("endpoint",),
                name="profile_one_in_force",
            ),
        ),
        migrations.AddField(
            model_name="gateversion",
            name="by",
            field=models.ForeignKey(
                null=True, on_delete=django.db.models.deletion.PROTECT, to=settings.AUTH_USER_MODEL
            ),
        ),
        migrations.AddField(
            model_name="grant",
            name="given_by",
            field=models.ForeignKey(
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="grants_given",
                to=settings.AUTH_USER_MODEL,
            ),
        ),
        migrations.AddField(
            model_name="grant",
            name="person",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE,
                related_name="grants",
                to=settings.AUTH_USER_MODEL,
            ),
        ),
        migrations.AddField(
            model_name="rolloutrequest",
            name="decided_by",
            field=models.ForeignKey(
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="rollouts_decided",
                to=settings.AUTH_USER_MODEL,
            ),
        ),
        migrations.AddField(
            model_name="rolloutrequest",
            name="gates",
            field=models.ForeignKey(
                null=True, on_delete=django.db.models.deletion.PROTECT, to="dashboard.gateversion"
            ),
        ),
        migrations.AddField(
            model_name="rolloutrequest",
            name="profile",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE,
                related_name="requests",
                to="dashboard.profile",
            ),
        ),
        migrations.AddField(
            model_name="rolloutrequest",
            name="requested_by",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.PROTECT,
                related_name="rollouts_requested",
                to=settings.AUTH_USER_MODEL,
            ),
        ),
        migrations.AddField(
            model_name="rolloutrequest",
            name="requested_token",
            field=models.ForeignKey(
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="+",
                to="dashboard.apitoken",
            ),
        ),
        migrations.AddField(
            model_name="rolloutrequest",
            name="switch",
            field=models.ForeignKey(
                null=True,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="requests",
                to="dashboard.modeswitch",
            ),
        ),
        migrations.AddConstraint(
            model_name="team",
            constraint=models.UniqueConstraint(
                django.db.models.functions.text.Lower("name"), name="team_name_once"
            ),
        ),
        migrations.AddField(
            model_name="grant",
            name="team",
            field=models.ForeignKey(
                null=True,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="grants",
                to="dashboard.team",
            ),
        ),
        migrations.AddField(
            model_name="endpoint",
            name="team",
            field=models.ForeignKey(
                blank=True,
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="endpoints",
                to="dashboard.team",
            ),
        ),
        migrations.AddIndex(
            model_name="rolloutrequest",
            index=models.Index(
                condition=models.Q(("state", "pending")), fields=["expires_at"], name="rollout_due"
            ),
        ),
        migrations.AddIndex(
            model_name="rolloutrequest",
            index=models.Index(fields=["profile", "-id"], name="rollout_of_profile"),
        ),
        migrations.AddConstraint(
            model_name="rolloutrequest",
            constraint=models.UniqueConstraint(
                condition=models.Q(("kind", "stage"), ("state", "pending")),
                fields=("profile",),
                name="rollout_one_pending",
            ),
        ),
        migrations.AddConstraint(
            model_name="rolloutrequest",
            constraint=models.UniqueConstraint(
                condition=models.Q(("state", "pending")),
                fields=("switch",),
                name="rollout_one_pending_unpin",
            ),
        ),
        migrations.AddConstraint(
            model_name="rolloutrequest",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("state", "approved"), _negated=True),
                    ("four_eyes", False),
                    models.Q(
                        ("decided_by__isnull", False),
                        models.Q(("decided_by", models.F("requested_by")), _negated=True),
                    ),
                    _connector="OR",
                ),
                name="rollout_four_eyes",
            ),
        ),
        migrations.AddConstraint(
            model_name="rolloutrequest",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("decided_at__isnull", True), ("state", "pending")),
                    models.Q(
                        models.Q(("state", "pending"), _negated=True), ("decided_at__isnull", False)
                    ),
                    _connector="OR",
                ),
                name="rollout_decided_iff_over",
            ),
        ),
        migrations.AddConstraint(
            model_name="rolloutrequest",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("kind", "stage"), ("switch__isnull", True)),
                    models.Q(("kind", "unpin"), ("switch__isnull", False)),
                    _connector="OR",
                ),
                name="rollout_kind_whole",
            ),
        ),
        migrations.AddConstraint(
            model_name="grant",
            constraint=models.UniqueConstraint(
                fields=("person", "team", "role"), name="grant_once", nulls_distinct=False
            ),
        ),
        migrations.AddConstraint(
            model_name="grant",
            constraint=models.CheckConstraint(
                condition=models.Q(("role__in", ["viewer", "operator", "approver"])),
                name="grant_role_known",
            ),
        ),
    ]
