"""Tags of endpoints, and what lists read of a watch instead of its whole state."""

from __future__ import annotations

from typing import Any

import django.contrib.postgres.fields
from django.db import migrations, models

from health.detector import PROBE
from health.watch import watch_from_json
from probes.outcomes import Metric


def fill(apps: Any, schema_editor: Any) -> None:
    for row in apps.get_model("dashboard", "Watch").objects.iterator():
        watch = watch_from_json(row.state)
        row.known = watch.gauge(Metric.PARSE_SUCCESS).known(PROBE).value
        row.below_gate = [metric.value for metric in watch.below_gate()]
        row.save(update_fields=["known", "below_gate"])


class Migration(migrations.Migration):
    dependencies = [("dashboard", "0009_tool_rules")]

    operations = [
        migrations.AddField(
            model_name="endpoint",
            name="tags",
            field=django.contrib.postgres.fields.ArrayField(
                base_field=models.CharField(max_length=40),
                blank=True,
                db_default=[],
                default=list,
                size=None,
            ),
        ),
        migrations.AddField(
            model_name="watch",
            name="known",
            field=models.CharField(db_default="none", default="none", max_length=16),
        ),
        migrations.AddField(
            model_name="watch",
            name="below_gate",
            field=django.contrib.postgres.fields.ArrayField(
                base_field=models.CharField(max_length=32), db_default=[], default=list, size=None
            ),
        ),
        migrations.RunPython(fill, migrations.RunPython.noop),
    ]
