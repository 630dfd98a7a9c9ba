"""Notices about requests and stages; versions of the gates that nobody changes afterwards."""

from __future__ import annotations

from django.db import migrations, models

GATES = """
CREATE FUNCTION dashboard_gates_refuse() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'a version of the gates can only be followed by another one'
        USING ERRCODE = 'insufficient_privilege';
END $$;
CREATE TRIGGER gates_no_change BEFORE UPDATE OR DELETE ON dashboard_gateversion
    FOR EACH ROW EXECUTE FUNCTION dashboard_gates_refuse();
"""
BACK = """
DROP TRIGGER gates_no_change ON dashboard_gateversion;
DROP FUNCTION dashboard_gates_refuse();
"""


class Migration(migrations.Migration):
    dependencies = [("dashboard", "0017_audit_log")]

    operations = [
        migrations.RunSQL(GATES, BACK),
        migrations.RemoveConstraint(model_name="channel", name="channel_kinds_known"),
        migrations.AlterField(
            model_name="notice",
            name="kind",
            field=models.CharField(
                choices=[
                    ("incident.opened", "Opened"),
                    ("incident.escalated", "Escalated"),
                    ("incident.recovered", "Recovered"),
                    ("mode.changed", "Mode Changed"),
                    ("decision.wanted", "Decision Wanted"),
                    ("rollout.requested", "Rollout Requested"),
                    ("rollout.decided", "Rollout Decided"),
                    ("stage.changed", "Stage Changed"),
                    ("incident.reminder", "Reminder"),
                    ("incident.flapping", "Flapping"),
                    ("test", "Test"),
                ],
                max_length=24,
            ),
        ),
        migrations.AddConstraint(
            model_name="channel",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    (
                        "kinds__contained_by",
                        [
                            "incident.opened",
                            "incident.escalated",
                            "incident.recovered",
                            "mode.changed",
                            "decision.wanted",
                            "rollout.requested",
                            "rollout.decided",
                            "stage.changed",
                            "incident.reminder",
                            "incident.flapping",
                        ],
                    )
                ),
                name="channel_kinds_known",
            ),
        ),
    ]
