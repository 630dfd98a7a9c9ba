"""Labels of the audit log's actions, groups and origins."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from dashboard.core.actor_context import Via
from dashboard.models.audit import Action

_ACTIONS: Mapping[str, Promise] = MappingProxyType(
    {
        Action.ENDPOINT_CREATED: _("registered an endpoint"),
        Action.ENDPOINT_CHANGED: _("changed an endpoint"),
        Action.ENDPOINT_REMOVED: _("removed an endpoint"),
        Action.ENDPOINTS_APPLIED: _("applied a file of endpoints"),
        Action.RUN_REQUESTED: _("asked for a run"),
        Action.RUN_CANCELLED: _("cancelled a run"),
        Action.MODE_ON: _("switched a mode on"),
        Action.MODE_OFF: _("switched a mode off"),
        Action.INCIDENT_ACKNOWLEDGED: _("acknowledged an incident"),
        Action.INCIDENT_RELEASED: _("released an incident"),
        Action.BASELINE_ACCEPTED: _("accepted a new normal"),
        Action.ROLLOUT_REQUESTED: _("made a request"),
        Action.ROLLOUT_APPROVED: _("approved a request"),
        Action.ROLLOUT_REJECTED: _("rejected a request"),
        Action.ROLLOUT_WITHDRAWN: _("withdrew a request"),
        Action.ROLLOUT_VOIDED: _("voided a request"),
        Action.ROLLOUT_EXPIRED: _("let a request expire"),
        Action.STAGE_CHANGED: _("changed a stage"),
        Action.GATES_CHANGED: _("changed the gates"),
        Action.TOOL_RULES_CHANGED: _("changed the rules of tools"),
        Action.CHANNEL_ADDED: _("added a channel"),
        Action.CHANNEL_CHANGED: _("changed a channel"),
        Action.CHANNEL_REMOVED: _("removed a channel"),
        Action.MAINTENANCE_PLANNED: _("planned maintenance"),
        Action.MAINTENANCE_CANCELLED: _("cancelled maintenance"),
        Action.NOTE_ADDED: _("wrote a note"),
        Action.NOTE_REMOVED: _("removed a note"),
        Action.PERSON_ADDED: _("let somebody in"),
        Action.PERSON_CHANGED: _("changed a person"),
        Action.GRANT_GIVEN: _("gave a role"),
        Action.GRANT_TAKEN: _("took a role"),
        Action.TEAM_CHANGED: _("changed a team"),
        Action.TOKEN_ISSUED: _("made an API token"),
        Action.TOKEN_REVOKED: _("revoked an API token"),
        Action.SIGNED_IN: _("signed in"),
        Action.SIGNED_OUT: _("signed out"),
        Action.SIGN_IN_FAILED: _("failed to sign in"),
        Action.SIGN_IN_UNLOCKED: _("let somebody try to sign in again"),
        Action.PASSWORD_CHANGED: _("changed a password"),
        Action.SECOND_FACTOR_CHANGED: _("changed a second factor"),
        Action.DEMO_CHANGED: _("changed the simulated fleet"),
    }
)
_GROUPS: Mapping[str, Promise] = MappingProxyType(
    {
        "endpoint.": _("Endpoints"),
        "endpoints.": _("Files of endpoints"),
        "run.": _("Runs"),
        "mode.": _("Modes"),
        "incident.": _("Incidents"),
        "baseline.": _("Baselines"),
        "rollout.": _("Rollouts"),
        "stage.": _("Stages"),
        "gates.": _("Gates"),
        "tool_rules.": _("Rules of tools"),
        "channel.": _("Channels"),
        "maintenance.": _("Maintenance"),
        "note.": _("Notes"),
        "person.": _("People"),
        "grant.": _("Roles"),
        "team.": _("Teams"),
        "token.": _("API tokens"),
        "session.": _("Sessions"),
        "password.": _("Passwords"),
        "second_factor.": _("Second factors"),
        "demo.": _("Simulated fleet"),
    }
)
_ORIGINS: Mapping[str, Promise] = MappingProxyType(
    {
        Via.PAGE: _("on a page"),
        Via.API: _("by the API"),
        Via.COMMAND: _("by a command on the server"),
        Via.SYSTEM: _("by itself"),
    }
)


def action_label(value: str) -> str:
    """The label of an action; an action without a label is shown by its code."""
    return str(_ACTIONS.get(value, value))


def group_label(value: str) -> str:
    return str(_GROUPS.get(value, value.rstrip(".")))


def origin_label(via: str) -> str:
    return str(_ORIGINS.get(via, via))
