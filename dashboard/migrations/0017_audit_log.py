"""The audit log, and the rights of those who were here before there were roles."""

from __future__ import annotations

from django.db import migrations

# A role that is not the tables' owner has no right to change a row; the owner is refused by a
# trigger, and so is a superuser.
AUDIT = """
CREATE TABLE dashboard_auditentry (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at_us bigint NOT NULL DEFAULT (extract(epoch FROM statement_timestamp()) * 1000000)::bigint,
    body text NOT NULL,
    action text GENERATED ALWAYS AS (body::jsonb ->> 'action') STORED NOT NULL,
    actor text GENERATED ALWAYS AS (body::jsonb -> 'actor' ->> 'name') STORED NOT NULL,
    endpoint text GENERATED ALWAYS AS (coalesce(body::jsonb ->> 'endpoint', '')) STORED NOT NULL,
    team bigint GENERATED ALWAYS AS ((body::jsonb ->> 'team')::bigint) STORED
);
CREATE INDEX audit_of_endpoint ON dashboard_auditentry (endpoint, id DESC);
CREATE INDEX audit_of_actor ON dashboard_auditentry (actor, id DESC);
CREATE INDEX audit_of_action ON dashboard_auditentry (action, id DESC);

CREATE TABLE dashboard_auditlink (
    seq bigint PRIMARY KEY,
    entry_id bigint NOT NULL UNIQUE REFERENCES dashboard_auditentry,
    previous bytea NOT NULL,
    digest bytea NOT NULL
);

CREATE FUNCTION dashboard_audit_refuse() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'the audit log can only be added to'
        USING ERRCODE = 'insufficient_privilege';
END $$;

-- At commit, so that the one lock that orders all entries is the last that a transaction takes.
CREATE FUNCTION dashboard_audit_chain() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    last dashboard_auditlink;
BEGIN
    PERFORM pg_advisory_xact_lock(1635083369);
    SELECT * INTO last FROM dashboard_auditlink ORDER BY seq DESC LIMIT 1;
    last.digest := coalesce(last.digest, ''::bytea);
    INSERT INTO dashboard_auditlink (seq, entry_id, previous, digest)
    VALUES (coalesce(last.seq, 0) + 1, NEW.id, last.digest,
        sha256(last.digest || convert_to(
            NEW.id || E'\\n' || NEW.at_us || E'\\n' || NEW.body, 'UTF8')));
    RETURN NULL;
END $$;

CREATE CONSTRAINT TRIGGER audit_chain AFTER INSERT ON dashboard_auditentry
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION dashboard_audit_chain();
CREATE TRIGGER audit_no_change BEFORE UPDATE OR DELETE ON dashboard_auditentry
    FOR EACH ROW EXECUTE FUNCTION dashboard_audit_refuse();
CREATE TRIGGER audit_no_truncate BEFORE TRUNCATE ON dashboard_auditentry
    FOR EACH STATEMENT EXECUTE FUNCTION dashboard_audit_refuse();
CREATE TRIGGER audit_no_change BEFORE UPDATE OR DELETE ON dashboard_auditlink
    FOR EACH ROW EXECUTE FUNCTION dashboard_audit_refuse();
CREATE TRIGGER audit_no_truncate BEFORE TRUNCATE ON dashboard_auditlink
    FOR EACH STATEMENT EXECUTE FUNCTION dashboard_audit_refuse();
REVOKE UPDATE, DELETE, TRUNCATE ON dashboard_auditentry, dashboard_auditlink FROM PUBLIC;
REVOKE UPDATE, DELETE, TRUNCATE ON dashboard_auditentry, dashboard_auditlink FROM CURRENT_USER;
"""

BACK = """
DROP TABLE dashboard_auditlink, dashboard_auditentry;
DROP FUNCTION dashboard_audit_chain(), dashboard_audit_refuse();
"""

# Whoever was no administrator could look at everything and act on it.
GRANTS = """
INSERT INTO dashboard_grant (person_id, role)
SELECT id, 'operator' FROM auth_user WHERE NOT is_superuser
"""
PROFILES = """
UPDATE dashboard_profile SET in_force = (ended_at IS NULL), stage_at = created_at
"""


class Migration(migrations.Migration):
    dependencies = [("dashboard", "0016_teams_and_rollouts")]

    operations = [
        migrations.RunSQL(AUDIT, BACK),
        migrations.RunSQL(GRANTS, migrations.RunSQL.noop),
        migrations.RunSQL(PROFILES, migrations.RunSQL.noop),
    ]
