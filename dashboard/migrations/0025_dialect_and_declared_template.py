"""The dialect that an endpoint is asked in, and a chat template that an operator declares."""

from __future__ import annotations

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("dashboard", "0024_run_void_kind")]

    operations = [
        migrations.AddField(
            "endpoint",
            "dialect",
            models.CharField(blank=True, db_default="", default="", max_length=32),
        ),
        migrations.AddField(
            "endpoint",
            "chat_template_hash",
            models.CharField(
                "chat template hash", blank=True, db_default="", default="", max_length=64
            ),
        ),
        migrations.AddField(
            "profile", "dialect", models.CharField(blank=True, db_default="", max_length=32)
        ),
        migrations.AddField(
            "profile",
            "declaration",
            models.CharField(
                blank=True,
                choices=[("", "None"), ("open", "Open"), ("confirmed", "Confirmed")],
                db_default="",
                max_length=16,
            ),
        ),
    ]
