"""Observations in batches, rollups of them, and evidence that is pinned."""

from __future__ import annotations

import django.contrib.postgres.indexes
import django.db.models.deletion
import django.db.models.functions.datetime
from django.db import migrations, models

# What was stored before has no batch: one is made for every moment of storing, so that it is
# rolled up like everything else.
BATCHES = """
ALTER TABLE dashboard_observation ADD COLUMN batch_id bigint;
INSERT INTO dashboard_observationbatch (batch, at, rows)
    SELECT gen_random_uuid(), at, count(*) FROM dashboard_observation GROUP BY at ORDER BY at;
UPDATE dashboard_observation o SET batch_id = b.id
    FROM dashboard_observationbatch b WHERE b.at = o.at;
ALTER TABLE dashboard_observation ALTER COLUMN batch_id SET NOT NULL;
"""

# Where rows go while their day has no partition.
OVERFLOW = """
CREATE TABLE dashboard_observation_overflow (LIKE dashboard_observation)
"""

# Five minutes are updated in place all day: no index may hold the figures. Hours and days are
# read by charts from the index alone, so their key carries the figures along.
ROLLUPS = """
CREATE TABLE dashboard_rollup5m (
    profile_id bigint NOT NULL,
    metric smallint NOT NULL,
    lane smallint NOT NULL,
    bucket timestamptz NOT NULL,
    trials integer NOT NULL,
    failures integer NOT NULL,
    PRIMARY KEY (profile_id, metric, lane, bucket)
) PARTITION BY RANGE (bucket);
CREATE TABLE dashboard_rolluphour (
    profile_id bigint NOT NULL,
    metric smallint NOT NULL,
    lane smallint NOT NULL,
    bucket timestamptz NOT NULL,
    trials integer NOT NULL,
    failures integer NOT NULL,
    PRIMARY KEY (profile_id, metric, lane, bucket) INCLUDE (trials, failures)
) PARTITION BY RANGE (bucket);
CREATE TABLE dashboard_rollupday (
    profile_id bigint NOT NULL,
    metric smallint NOT NULL,
    lane smallint NOT NULL,
    bucket timestamptz NOT NULL,
    trials integer NOT NULL,
    failures integer NOT NULL,
    PRIMARY KEY (profile_id, metric, lane, bucket) INCLUDE (trials, failures)
) WITH (fillfactor = 70, autovacuum_vacuum_insert_scale_factor = 0.02);
"""
NO_ROLLUPS = "DROP TABLE dashboard_rollup5m, dashboard_rolluphour, dashboard_rollupday"

ROLLUP_FIELDS = [
    (
        "pk",
        models.CompositePrimaryKey(
            "profile_id",
            "metric",
            "lane",
            "bucket",
            blank=True,
            editable=False,
            primary_key=True,
            serialize=False,
        ),
    ),
    ("profile_id", models.BigIntegerField()),
    ("metric", models.SmallIntegerField()),
    ("lane", models.SmallIntegerField()),
    ("bucket", models.DateTimeField()),
    ("trials", models.IntegerField()),
    ("failures", models.IntegerField()),
]


class Migration(migrations.Migration):
    dependencies = [("dashboard", "0003_run_machine")]

    operations = [
        migrations.CreateModel(
            name="ObservationBatch",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("batch", models.UUIDField(unique=True)),
                ("at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ("rows", models.PositiveIntegerField()),
                ("rolled_at", models.DateTimeField(null=True)),
            ],
            options={
                "indexes": [
                    models.Index(
                        condition=models.Q(("rolled_at", None)),
                        fields=["id"],
                        name="batch_not_rolled",
                    ),
                    django.contrib.postgres.indexes.BrinIndex(
                        fields=["at"], name="batch_at", pages_per_range=32
                    ),
                ],
            },
        ),
        migrations.RunSQL(BATCHES, "ALTER TABLE dashboard_observation DROP COLUMN batch_id"),
        migrations.RunSQL(OVERFLOW, "DROP TABLE dashboard_observation_overflow"),
        migrations.RunSQL(ROLLUPS, NO_ROLLUPS),
        migrations.CreateModel(
            name="Rollup5m",
            fields=ROLLUP_FIELDS,
            options={"db_table": "dashboard_rollup5m", "managed": False},
        ),
        migrations.CreateModel(
            name="RollupHour",
            fields=ROLLUP_FIELDS,
            options={"db_table": "dashboard_rolluphour", "managed": False},
        ),
        migrations.CreateModel(
            name="RollupDay",
            fields=ROLLUP_FIELDS,
            options={"db_table": "dashboard_rollupday", "managed": False},
        ),
        migrations.CreateModel(
            name="PinnedEvidence",
            fields=[
                (
                    "sha256",
                    models.BinaryField(max_length=32, primary_key=True, serialize=False),
                ),
                ("body", models.BinaryField()),
                ("size", models.IntegerField()),
                (
                    "created_at",
                    models.DateTimeField(db_default=django.db.models.functions.datetime.Now()),
                ),
            ],
        ),
        migrations.CreateModel(
            name="Pin",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("probe", models.TextField()),
                ("trial", models.IntegerField()),
                ("run_at", models.DateTimeField()),
                ("why", models.TextField()),
                (
                    "created_at",
                    models.DateTimeField(db_default=django.db.models.functions.datetime.Now()),
                ),
                (
                    "evidence",
                    models.ForeignKey(
                        db_column="sha256",
                        on_delete=django.db.models.deletion.PROTECT,
                        to="dashboard.pinnedevidence",
                    ),
                ),
                (
                    "run",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="pins",
                        to="dashboard.run",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        fields=("run", "probe", "trial", "why"), name="pin_once"
                    )
                ],
            },
        ),
    ]
