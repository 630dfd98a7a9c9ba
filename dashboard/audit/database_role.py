"""A database role that runs the product without owning its tables.

The owner of a table can switch its triggers off. Web, workers and gateway must not be able to: they
may read and write rows, and in the audit log only insert and read. Partitioned tables are the
exception: workers create and drop partitions, so the role owns those tables.
"""

from __future__ import annotations

from django.db import transaction

from dashboard.core import partitions
from dashboard.core.errors import Refused
from dashboard.core.sql import execute, fetch_row, fetch_rows

_OWNED_TABLES = (*partitions.MONTHLY, *partitions.DAILY)


@transaction.atomic
def grant_role(name: str) -> None:
    """Grant a role what the product needs. The owner runs it after every migration."""
    row = fetch_row(_ROLE, {"name": name})
    if row is None:
        raise Refused(f"There is no role {name!r}. CREATE ROLE {name} LOGIN PASSWORD '…' makes it.")
    quoted, is_super, is_me, owner, schema = row
    if is_super or is_me:
        raise Refused(f"{name!r} is a superuser or the tables' owner: nothing would bind it.")
    for statement in _GRANTS:
        execute(statement.format(role=quoted, owner=owner, schema=schema))
    for (table,) in fetch_rows(_PARTITIONED, {"parents": list(_OWNED_TABLES)}):
        execute(f"ALTER TABLE {table} OWNER TO {quoted}")


_ROLE = """
SELECT quote_ident(rolname), rolsuper, rolname = current_user, quote_ident(current_user),
    quote_ident(current_schema())
FROM pg_roles WHERE rolname = %(name)s
"""

# The owner is a member of the role, so that migrations can change the tables that it owns.
_GRANTS = (
    "GRANT {role} TO {owner}",
    "GRANT USAGE, CREATE ON SCHEMA {schema} TO {role}",
    "GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA {schema} TO {role}",
    "GRANT USAGE, SELECT ON ALL SEQUENCES IN SCHEMA {schema} TO {role}",
    "REVOKE ALL ON dashboard_auditentry, dashboard_auditlink, dashboard_auditturn FROM {role}",
    "GRANT SELECT, INSERT (body) ON dashboard_auditentry TO {role}",
    "GRANT SELECT ON dashboard_auditlink TO {role}",
    "REVOKE INSERT, UPDATE, DELETE ON django_migrations FROM {role}",
)

_PARTITIONED = """
SELECT c.oid::regclass::text FROM pg_class c
WHERE c.relkind IN ('r', 'p') AND pg_table_is_visible(c.oid)
    AND (c.relname = ANY(%(parents)s) OR EXISTS (
        SELECT FROM pg_inherits i JOIN pg_class p ON p.oid = i.inhparent
        WHERE i.inhrelid = c.oid AND p.relname = ANY(%(parents)s)))
ORDER BY c.relkind
"""
