"""Notes, prices of tokens, and what a run took."""

from __future__ import annotations

import django.db.models.deletion
import django.db.models.functions.datetime
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("dashboard", "0010_tags_and_watch_in_short"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="Note",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("at", models.DateTimeField()),
                ("text", models.CharField(max_length=500)),
                ("link", models.CharField(blank=True, max_length=500)),
                (
                    "created_at",
                    models.DateTimeField(db_default=django.db.models.functions.datetime.Now()),
                ),
                ("removed_at", models.DateTimeField(null=True)),
                (
                    "author",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="notes",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "endpoint",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="notes",
                        to="dashboard.endpoint",
                    ),
                ),
                (
                    "removed_by",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="notes_removed",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
        ),
        migrations.AddField(
            model_name="endpoint",
            name="currency",
            field=models.CharField(db_default="USD", default="USD", max_length=8),
        ),
        migrations.AddField(
            model_name="endpoint",
            name="price_input",
            field=models.DecimalField(
                blank=True,
                decimal_places=6,
                max_digits=12,
                null=True,
                verbose_name="price of input",
            ),
        ),
        migrations.AddField(
            model_name="endpoint",
            name="price_output",
            field=models.DecimalField(
                blank=True,
                decimal_places=6,
                max_digits=12,
                null=True,
                verbose_name="price of output",
            ),
        ),
        migrations.AddField(
            model_name="run",
            name="latency_p50_ms",
            field=models.PositiveIntegerField(null=True),
        ),
        migrations.AddField(
            model_name="run",
            name="latency_p95_ms",
            field=models.PositiveIntegerField(null=True),
        ),
        migrations.AddField(
            model_name="run",
            name="lost_ms",
            field=models.PositiveBigIntegerField(null=True),
        ),
        migrations.AddField(
            model_name="run",
            name="lost_tokens",
            field=models.PositiveBigIntegerField(null=True),
        ),
        migrations.AddIndex(
            model_name="run",
            index=models.Index(
                condition=models.Q(("finished_at__isnull", False)),
                fields=["endpoint", "-finished_at"],
                name="run_ended_of_endpoint",
            ),
        ),
        migrations.AddIndex(
            model_name="note",
            index=models.Index(
                condition=models.Q(("removed_at", None)),
                fields=["endpoint", "-at"],
                name="note_of_endpoint",
            ),
        ),
    ]
