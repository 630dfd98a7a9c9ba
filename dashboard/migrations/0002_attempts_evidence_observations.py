"""Partitioned tables and the fencing sequence. Partitions are made by services/partitions.py."""

from __future__ import annotations

from django.db import migrations

FENCE = "CREATE SEQUENCE dashboard_fence"

# The primary key is the idempotency key of a trial. It ends in run_at because a partitioned table
# needs its partition key in every unique index; run_at is the run's created_at, so a retry of the
# same trial in another month still meets its first attempt.
ATTEMPT = """
CREATE TABLE dashboard_attempt (
    run_id bigint NOT NULL,
    probe text NOT NULL,
    trial integer NOT NULL,
    run_at timestamptz NOT NULL,
    token bigint NOT NULL,
    outcome text NOT NULL CHECK (outcome IN ('pass', 'fail', 'void')),
    findings jsonb NOT NULL,
    verdicts jsonb NOT NULL,
    http_status smallint,
    latency_ms integer,
    first_byte_ms integer,
    input_tokens integer,
    output_tokens integer,
    fingerprint jsonb NOT NULL,
    evidence_sha256 bytea,
    started_at timestamptz NOT NULL,
    created_at timestamptz NOT NULL,
    PRIMARY KEY (run_id, probe, trial, run_at)
) PARTITION BY RANGE (run_at)
"""

# Stored once a month by its hash; a month is dropped whole when its time is over.
EVIDENCE = """
CREATE TABLE dashboard_evidence (
    sha256 bytea NOT NULL CHECK (length(sha256) = 32),
    month date NOT NULL,
    body bytea NOT NULL,
    size integer NOT NULL,
    created_at timestamptz NOT NULL,
    PRIMARY KEY (sha256, month)
) PARTITION BY RANGE (month)
"""

# Append only, so no primary key and no b-tree. verdicts: two bits a metric, as packed by
# health/observations.py.
# at is when it was stored, event_at when it happened: a late event never moves the roll-up back.
OBSERVATION = """
CREATE TABLE dashboard_observation (
    at timestamptz NOT NULL,
    profile_id bigint NOT NULL,
    key_epoch integer NOT NULL,
    lane smallint NOT NULL,
    run_id bigint,
    client_id bigint,
    policy_version integer,
    verdicts integer NOT NULL,
    event_at timestamptz NOT NULL,
    latency_ms integer,
    first_byte_ms integer,
    input_tokens integer,
    output_tokens integer,
    http_status smallint,
    end_reason smallint,
    request_id uuid
) PARTITION BY RANGE (at);
CREATE INDEX dashboard_observation_at ON dashboard_observation
    USING brin (at) WITH (pages_per_range = 32);
"""


class Migration(migrations.Migration):
    dependencies = [("dashboard", "0001_endpoints_profiles_runs")]

    operations = [
        migrations.RunSQL(FENCE, "DROP SEQUENCE dashboard_fence"),
        migrations.RunSQL(ATTEMPT, "DROP TABLE dashboard_attempt"),
        migrations.RunSQL(EVIDENCE, "DROP TABLE dashboard_evidence"),
        migrations.RunSQL(OBSERVATION, "DROP TABLE dashboard_observation"),
    ]
