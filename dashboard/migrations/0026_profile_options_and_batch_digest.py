"""The request options that a profile was measured with, and the digest of a telemetry batch."""

from __future__ import annotations

from django.db import migrations, models

# A profile that has ended keeps the options of its end: those before the next edit of them. The
# edit that ended it was stored a moment earlier, in the same transaction.
_COPY = """
UPDATE dashboard_profile AS profile SET options = COALESCE(
    (SELECT NULLIF(change ->> 1, '')::jsonb
     FROM dashboard_endpointedit AS edit, jsonb_array_elements(edit.changes) AS change
     WHERE edit.endpoint_id = profile.endpoint_id AND change ->> 0 = 'options'
         AND edit.at >= profile.ended_at - interval '5 seconds'
     ORDER BY edit.at LIMIT 1),
    endpoint.options)
FROM dashboard_endpoint AS endpoint WHERE endpoint.id = profile.endpoint_id
"""


class Migration(migrations.Migration):
    dependencies = [("dashboard", "0025_dialect_and_declared_template")]

    operations = [
        migrations.AddField("profile", "options", models.JSONField(db_default={})),
        migrations.RunSQL(_COPY, migrations.RunSQL.noop),
        migrations.AddField(
            "observationbatch", "digest", models.BinaryField(max_length=32, null=True)
        ),
    ]
