"""Failed sign-ins of known browsers are counted by themselves, and others by address too."""

from __future__ import annotations

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("dashboard", "0026_profile_options_and_batch_digest")]

    operations = [
        migrations.AddField(
            model_name="loginfailure",
            name="browser",
            field=models.CharField(blank=True, db_default="", default="", max_length=16),
        ),
        migrations.RemoveConstraint(model_name="loginfailure", name="login_failure_unique"),
        migrations.AddConstraint(
            model_name="loginfailure",
            constraint=models.UniqueConstraint(
                fields=("name", "address", "browser"),
                name="login_failure_unique",
                nulls_distinct=False,
            ),
        ),
        migrations.AddIndex(
            model_name="loginfailure",
            index=models.Index(
                condition=models.Q(("browser", "")),
                fields=["address"],
                name="login_failure_address",
            ),
        ),
    ]
