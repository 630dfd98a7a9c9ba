"""The audit log, and the rights of those who were here before there were roles."""

from __future__ import annotations

from django.db import migrations

# A role that is not the tables' owner has no right to change a row; the owner is refused by a
# trigger, and so is a superuser. `body` is all that is told; who writes it cannot choose when.
TABLES = """
CREATE TABLE dashboard_auditentry (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at_us bigint NOT NULL DEFAULT 0,
    body text NOT NULL CONSTRAINT audit_body_bounded CHECK (octet_length(body) <= 524288),
    action text GENERATED ALWAYS AS (body::jsonb ->> 'action') STORED NOT NULL,
    actor text GENERATED ALWAYS AS (body::jsonb -> 'actor' ->> 'name') STORED NOT NULL,
    endpoint text GENERATED ALWAYS AS (coalesce(body::jsonb ->> 'endpoint', '')) STORED NOT NULL,
    endpoint_id bigint GENERATED ALWAYS AS ((body::jsonb ->> 'endpoint_id')::bigint) STORED,
    team bigint GENERATED ALWAYS AS ((body::jsonb ->> 'team')::bigint) STORED
);
CREATE INDEX audit_at ON dashboard_auditentry (at_us);
CREATE INDEX audit_of_endpoint ON dashboard_auditentry (endpoint, id DESC);
CREATE INDEX audit_of_endpoint_id ON dashboard_auditentry (endpoint_id, id DESC);
CREATE INDEX audit_of_team ON dashboard_auditentry (team, id DESC);
CREATE INDEX audit_of_actor ON dashboard_auditentry (actor, id DESC);
CREATE INDEX audit_of_action ON dashboard_auditentry (action, id DESC);

-- No foreign key: checking one wants the right to change the entry, which nobody has.
CREATE TABLE dashboard_auditlink (
    seq bigint PRIMARY KEY,
    entry_id bigint NOT NULL UNIQUE,
    previous bytea NOT NULL,
    digest bytea NOT NULL
);

-- Entries that wait for their place in the chain. It is empty between transactions.
CREATE UNLOGGED TABLE dashboard_auditturn (entry_id bigint PRIMARY KEY);
"""

# The one lock that orders all entries must be the last that a transaction takes: whoever holds it
# and waits for a row would stop everybody, and whoever has that row waits for the lock. Deferred
# checks of foreign keys lock rows at the commit, after an entry that was written before them. So
# the first deferred trigger only puts down a second one, which comes after all that were there.
TRIGGERS = """
CREATE FUNCTION dashboard_audit_refuse() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'the audit log can only be added to'
        USING ERRCODE = 'insufficient_privilege';
END $$;

CREATE FUNCTION dashboard_audit_stamp() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.at_us := (extract(epoch FROM statement_timestamp()) * 1000000)::bigint;
    RETURN NEW;
END $$;

CREATE FUNCTION dashboard_audit_turn() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER AS $$
BEGIN
    INSERT INTO dashboard_auditturn VALUES (NEW.id);
    RETURN NULL;
END $$;

CREATE FUNCTION dashboard_audit_chain() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER AS $$
DECLARE
    last dashboard_auditlink;
    told text;
BEGIN
    PERFORM pg_advisory_xact_lock(1635083369);
    DELETE FROM dashboard_auditturn WHERE entry_id = NEW.entry_id;
    SELECT * INTO last FROM dashboard_auditlink ORDER BY seq DESC LIMIT 1;
    last.digest := coalesce(last.digest, ''::bytea);
    SELECT id || E'\\n' || at_us || E'\\n' || body INTO STRICT told
    FROM dashboard_auditentry WHERE id = NEW.entry_id;
    INSERT INTO dashboard_auditlink (seq, entry_id, previous, digest)
    VALUES (coalesce(last.seq, 0) + 1, NEW.entry_id, last.digest,
        sha256(last.digest || convert_to(told, 'UTF8')));
    RETURN NULL;
END $$;

-- They run with the owner's rights, so nobody may put a table of their own in the way.
DO $$
BEGIN
    EXECUTE format('ALTER FUNCTION dashboard_audit_turn() '
        'SET search_path = pg_catalog, %I, pg_temp', current_schema());
    EXECUTE format('ALTER FUNCTION dashboard_audit_chain() '
        'SET search_path = pg_catalog, %I, pg_temp', current_schema());
END $$;

CREATE TRIGGER audit_stamp BEFORE INSERT ON dashboard_auditentry
    FOR EACH ROW EXECUTE FUNCTION dashboard_audit_stamp();
CREATE CONSTRAINT TRIGGER audit_turn AFTER INSERT ON dashboard_auditentry
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION dashboard_audit_turn();
CREATE CONSTRAINT TRIGGER audit_chain AFTER INSERT ON dashboard_auditturn
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION dashboard_audit_chain();

CREATE TRIGGER audit_no_change BEFORE UPDATE OR DELETE ON dashboard_auditentry
    FOR EACH ROW EXECUTE FUNCTION dashboard_audit_refuse();
CREATE TRIGGER audit_no_truncate BEFORE TRUNCATE ON dashboard_auditentry
    FOR EACH STATEMENT EXECUTE FUNCTION dashboard_audit_refuse();
CREATE TRIGGER audit_no_change BEFORE UPDATE OR DELETE ON dashboard_auditlink
    FOR EACH ROW EXECUTE FUNCTION dashboard_audit_refuse();
CREATE TRIGGER audit_no_truncate BEFORE TRUNCATE ON dashboard_auditlink
    FOR EACH STATEMENT EXECUTE FUNCTION dashboard_audit_refuse();
-- Also in a session that calls itself a replica.
ALTER TABLE dashboard_auditentry ENABLE ALWAYS TRIGGER audit_no_change;
ALTER TABLE dashboard_auditentry ENABLE ALWAYS TRIGGER audit_no_truncate;
ALTER TABLE dashboard_auditlink ENABLE ALWAYS TRIGGER audit_no_change;
ALTER TABLE dashboard_auditlink ENABLE ALWAYS TRIGGER audit_no_truncate;

REVOKE ALL ON FUNCTION dashboard_audit_turn(), dashboard_audit_chain() FROM PUBLIC;
REVOKE ALL ON dashboard_auditentry, dashboard_auditlink, dashboard_auditturn FROM PUBLIC;
REVOKE UPDATE, DELETE, TRUNCATE ON dashboard_auditentry, dashboard_auditlink FROM CURRENT_USER;
"""

BACK = """
DROP TABLE dashboard_auditturn, dashboard_auditlink, dashboard_auditentry;
DROP FUNCTION dashboard_audit_chain(), dashboard_audit_turn(), dashboard_audit_stamp(),
    dashboard_audit_refuse();
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
        migrations.RunSQL(TABLES, migrations.RunSQL.noop),
        migrations.RunSQL(TRIGGERS, BACK),
        migrations.RunSQL(GRANTS, migrations.RunSQL.noop),
        migrations.RunSQL(PROFILES, migrations.RunSQL.noop),
    ]
