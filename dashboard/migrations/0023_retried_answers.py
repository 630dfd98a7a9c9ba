"""How many answers of each status were retried, per attempt and per run."""

from __future__ import annotations

from django.db import migrations, models

ADD_COLUMN = """
ALTER TABLE dashboard_attempt ADD COLUMN retried jsonb NOT NULL DEFAULT '{}'
"""


class Migration(migrations.Migration):
    dependencies = [("dashboard", "0022_login_failures")]

    operations = [
        migrations.AddField("run", "retried", models.JSONField(db_default={})),
        # The table is partitioned and not Django's.
        migrations.RunSQL(
            ADD_COLUMN,
            "ALTER TABLE dashboard_attempt DROP COLUMN retried",
            state_operations=[
                migrations.AddField("attempt", "retried", models.JSONField(default=dict))
            ],
        ),
    ]
