"""Failed sign-ins in a table of ours; those that django-axes kept are carried over."""

from __future__ import annotations

from django.db import migrations, models

# Only installations from before have the tables of django-axes.
CARRY_OVER = """
DO $$ BEGIN IF to_regclass('axes_accessattempt') IS NOT NULL THEN
    INSERT INTO dashboard_loginfailure (name, address, failures, last_at, is_account)
    SELECT left(username, 150), ip_address, sum(failures_since_start), max(attempt_time), false
    FROM axes_accessattempt WHERE username IS NOT NULL
    GROUP BY left(username, 150), ip_address;
END IF; END $$
"""
# Without the rows of its migrations, a release from before would make its tables anew.
DROP_AXES = """
DROP TABLE IF EXISTS axes_accessattemptexpiration, axes_accessattempt, axes_accesslog,
    axes_accessfailurelog;
DELETE FROM django_migrations WHERE app = 'axes';
"""


class Migration(migrations.Migration):
    dependencies = [("dashboard", "0021_sessions_of_people")]

    operations = [
        migrations.CreateModel(
            name="LoginFailure",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("name", models.CharField(max_length=150)),
                ("address", models.GenericIPAddressField(null=True)),
                ("failures", models.PositiveIntegerField(default=0)),
                ("last_at", models.DateTimeField()),
                ("is_account", models.BooleanField(default=False)),
                ("audited_at", models.DateTimeField(null=True)),
            ],
            options={
                "indexes": [
                    models.Index(
                        condition=models.Q(("audited_at__isnull", False), ("is_account", False)),
                        fields=["audited_at"],
                        name="login_failure_audited",
                    )
                ],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("name", "address"),
                        name="login_failure_unique",
                        nulls_distinct=False,
                    )
                ],
            },
        ),
        migrations.RunSQL(CARRY_OVER, migrations.RunSQL.noop),
        migrations.RunSQL(DROP_AXES, migrations.RunSQL.noop),
    ]
