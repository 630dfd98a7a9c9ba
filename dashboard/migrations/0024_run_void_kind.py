"""Why a run has no verdict, as the kind of the finding."""

from __future__ import annotations

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("dashboard", "0023_retried_answers")]

    operations = [
        migrations.AddField(
            "run", "void_kind", models.CharField(blank=True, db_default="", max_length=40)
        ),
    ]
