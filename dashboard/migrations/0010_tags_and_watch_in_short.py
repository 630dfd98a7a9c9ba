"""Tags of endpoints, and what lists read of a watch instead of its whole state."""

from __future__ import annotations

from math import exp, lgamma, log, log1p
from typing import Any

import django.contrib.postgres.fields
from django.db import migrations, models

# The rules of the detector as they were when the columns came; a later change of the detector
# must not change what an upgrade writes.
PROVISIONAL_TRIALS, FROZEN_TRIALS, FROZEN_RUNS = 30, 200, 20
GATES = {"parse_success": 0.80, "schema_failure": 0.70, "closure_error": 0.90}
EMPTY_GAUGE = {"baseline": [0, 0, 0], "reference": None}


def fill(apps: Any, schema_editor: Any) -> None:
    for row in apps.get_model("dashboard", "Watch").objects.iterator():
        gauges = row.state.get("gauges", {})
        row.known = known(gauges.get("parse_success", EMPTY_GAUGE))
        row.below_gate = [
            metric for metric, gate in GATES.items() if is_below(gauges.get(metric), gate)
        ]
        row.save(update_fields=["known", "below_gate"])


def known(gauge: dict[str, Any]) -> str:
    """How much is known about what is normal: a reference exists only for a frozen baseline."""
    _, trials, runs = gauge["baseline"]
    if gauge["reference"] is not None or (trials >= FROZEN_TRIALS and runs >= FROZEN_RUNS):
        return "frozen"
    return "provisional" if trials >= PROVISIONAL_TRIALS else "none"


def is_below(gauge: dict[str, Any] | None, gate: float) -> bool:
    """Whether the reference, or else 90 % of what the baseline makes likely, is below the gate."""
    if gauge is None:
        return False
    if gauge["reference"] is not None:
        return bool(gauge["reference"] < gate)
    successes, trials, _ = gauge["baseline"]
    return trials > 0 and share_below(gate, 0.5 + successes, 0.5 + trials - successes) > 0.90


def share_below(x: float, a: float, b: float) -> float:
    """How much of Beta(a, b) is below x, by the hypergeometric series of its smaller side."""
    if x > (a + 1) / (a + b + 2):
        return 1 - share_below(1 - x, b, a)
    front = exp(a * log(x) + b * log1p(-x) + lgamma(a + b) - lgamma(a + 1) - lgamma(b))
    total = term = 1.0
    n = 0
    while term > 1e-17 * total:
        term *= x * (a + b + n) / (a + 1 + n)
        total += term
        n += 1
    return front * total


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
