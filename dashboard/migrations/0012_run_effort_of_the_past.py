"""What runs of the past took, as far as their attempts are still there."""

from __future__ import annotations

from django.db import migrations

# The newest runs only: an upgrade must not wait for a year of attempts. Older ones say "no data".
MOST_RUNS = 20_000

_FILL = """
UPDATE dashboard_run r SET latency_p50_ms = f.p50, latency_p95_ms = f.p95,
    lost_tokens = f.lost_tokens, lost_ms = f.lost_ms
FROM (
    SELECT a.run_id,
        percentile_disc(0.5) WITHIN GROUP (ORDER BY a.latency_ms)
            FILTER (WHERE a.outcome <> 'void') AS p50,
        percentile_disc(0.95) WITHIN GROUP (ORDER BY a.latency_ms)
            FILTER (WHERE a.outcome <> 'void') AS p95,
        COALESCE(sum(COALESCE(a.input_tokens, 0) + COALESCE(a.output_tokens, 0))
            FILTER (WHERE a.outcome <> 'pass'), 0) AS lost_tokens,
        COALESCE(sum(a.latency_ms) FILTER (WHERE a.outcome <> 'pass'), 0) AS lost_ms
    FROM (SELECT id, created_at FROM dashboard_run WHERE finished_at IS NOT NULL
        ORDER BY id DESC LIMIT %s) newest
    JOIN dashboard_attempt a ON a.run_id = newest.id AND a.run_at = newest.created_at
    GROUP BY a.run_id) f
WHERE r.id = f.run_id
"""


class Migration(migrations.Migration):
    dependencies = [("dashboard", "0011_notes_prices_effort")]

    operations = [
        # Back again there is nothing to undo: the columns go with the migration before.
        migrations.RunSQL([(_FILL, [MOST_RUNS])], migrations.RunSQL.noop),
    ]
