from __future__ import annotations

from typing import Any

import django.db.models.deletion
import django.db.models.functions.datetime
from django.conf import settings
from django.db import migrations, models

SCOPES = ["read", "probe", "operate", "decide", "telemetry", "gateway"]

RENAME = """
UPDATE dashboard_apitoken
SET scopes = (
    SELECT jsonb_agg(CASE scope WHEN %s THEN %s ELSE scope END ORDER BY place)
    FROM jsonb_array_elements_text(scopes) WITH ORDINALITY AS held (scope, place)
)
WHERE scopes ? %s
"""


def _renaming(old: str, new: str) -> list[Any]:
    return [(RENAME, [old, new, old])]


class Migration(migrations.Migration):
    dependencies = [
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
        ("dashboard", "0018_rollout_notices"),
    ]

    operations = [
        migrations.RemoveConstraint(model_name="apitoken", name="api_token_scopes_known"),
        migrations.RunSQL(_renaming("write", "operate"), _renaming("operate", "write")),
        migrations.AddConstraint(
            model_name="apitoken",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("scopes__contained_by", SCOPES), models.Q(("scopes", []), _negated=True)
                ),
                name="api_token_scopes_known",
            ),
        ),
        migrations.AlterField(
            model_name="apitoken",
            name="created_by",
            field=models.ForeignKey(
                null=True,
                on_delete=django.db.models.deletion.CASCADE,
                to=settings.AUTH_USER_MODEL,
            ),
        ),
        migrations.AddField(
            model_name="apitoken",
            name="team",
            field=models.ForeignKey(
                null=True,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="+",
                to="dashboard.team",
            ),
        ),
        migrations.CreateModel(
            name="KeptAnswer",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("key", models.CharField(max_length=200)),
                ("request", models.BinaryField(max_length=32)),
                ("status", models.PositiveSmallIntegerField()),
                ("content_type", models.CharField(max_length=100)),
                ("body", models.BinaryField(null=True)),
                (
                    "created_at",
                    models.DateTimeField(db_default=django.db.models.functions.datetime.Now()),
                ),
                (
                    "token",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="dashboard.apitoken",
                    ),
                ),
            ],
            options={
                "indexes": [models.Index(fields=["created_at"], name="kept_answer_age")],
                "constraints": [
                    models.UniqueConstraint(fields=["token", "key"], name="kept_answer_once")
                ],
            },
        ),
    ]
