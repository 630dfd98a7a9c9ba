"""Who may do what at every URL: the table behind the matrix of rights.

It repeats on purpose what views declare (dashboard/core/permissions.py), so that a right changed by
mistake in one of the two places is noticed. A new URL needs an entry here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum


class Persona(StrEnum):
    """The kinds of people in the matrix; all but the last have roles in the endpoint's team."""

    ANONYMOUS = "anonymous"
    NOBODY = "somebody without a role"
    VIEWER = "viewer"
    OPERATOR = "operator"
    APPROVER = "approver"
    ADMINISTRATOR = "administrator"
    FOREIGN = "operator of another team"


READERS = frozenset({Persona.VIEWER, Persona.OPERATOR, Persona.APPROVER, Persona.ADMINISTRATOR})
# Personas that may start runs, turn modes on and step back.
PROBERS = frozenset({Persona.OPERATOR, Persona.APPROVER, Persona.ADMINISTRATOR})
OPERATORS = frozenset({Persona.OPERATOR, Persona.ADMINISTRATOR})
APPROVERS = frozenset({Persona.APPROVER, Persona.ADMINISTRATOR})
ADMINISTRATORS = frozenset({Persona.ADMINISTRATOR})
SIGNED_IN = frozenset(Persona) - {Persona.ANONYMOUS}
ANYBODY = frozenset(Persona)

_ALLOWED_STATUSES = frozenset({200, 204, 302})


@dataclass(frozen=True, slots=True)
class PageRights:
    """Who may GET and who may POST; None if the page does not have that method.

    `answers` are the statuses of allowed requests, which can fail for other reasons. For personas
    in `unseen` it answers 404: the view looks it up among what they may see. `is_for_programs`: it
    takes a token instead of sending strangers to the sign-in page, and looks at the method first.
    """

    get: frozenset[Persona] | None = None
    post: frozenset[Persona] | None = None
    answers: frozenset[int] = _ALLOWED_STATUSES
    unseen: frozenset[Persona] = frozenset()
    is_for_programs: bool = False


# By the names of their addresses.
PAGES: Mapping[str, PageRights] = {
    # The fleet, endpoints and their runs.
    "fleet": PageRights(READERS),
    "fleet-rows": PageRights(READERS),
    "compare": PageRights(READERS),
    "compare-export": PageRights(READERS),
    "nearby": PageRights(OPERATORS),
    "endpoint": PageRights(READERS),
    "endpoint-new": PageRights(OPERATORS, OPERATORS),
    "endpoint-new-try": PageRights(post=OPERATORS),
    "endpoint-edit": PageRights(OPERATORS, OPERATORS),
    "endpoint-try": PageRights(post=OPERATORS),
    "endpoint-remove": PageRights(OPERATORS, OPERATORS),
    "endpoint-runs": PageRights(READERS),
    "endpoint-run": PageRights(READERS),
    "endpoint-probe": PageRights(PROBERS, PROBERS),
    "endpoint-chart": PageRights(READERS),
    "endpoint-points": PageRights(READERS),
    "endpoint-export": PageRights(READERS),
    "endpoint-notes": PageRights(READERS, OPERATORS),
    "note-remove": PageRights(post=OPERATORS),
    "endpoint-policy": PageRights(READERS),
    "endpoint-modes": PageRights(READERS, PROBERS),
    "mode-off": PageRights(post=PROBERS),
    "mode-release": PageRights(post=OPERATORS),
    "endpoint-accept": PageRights(APPROVERS, APPROVERS),
    "run": PageRights(READERS),
    "run-progress": PageRights(READERS),
    "run-cancel": PageRights(post=PROBERS),
    "run-attempts": PageRights(READERS),
    "run-bundle": PageRights(READERS),
    "attempt": PageRights(READERS),
    "attempt-difference": PageRights(READERS),
    "attempt-bundle": PageRights(READERS),
    "attempt-chunks": PageRights(READERS),
    "attempt-raw": PageRights(READERS),
    # Rollouts.
    "rollouts": PageRights(READERS),
    "rollout": PageRights(READERS),
    "rollout-ask": PageRights(post=OPERATORS),
    "rollout-decide": PageRights(post=APPROVERS),
    "rollout-withdraw": PageRights(post=OPERATORS),
    "rollout-step-back": PageRights(PROBERS, PROBERS),
    "gates": PageRights(READERS, ADMINISTRATORS),
    # The audit log.
    "audit": PageRights(READERS),
    "audit-export": PageRights(READERS),
    "audit-entry": PageRights(READERS, unseen=frozenset({Persona.FOREIGN})),
    # Incidents.
    "incidents": PageRights(READERS),
    "incident": PageRights(READERS),
    "incident-acknowledge": PageRights(post=OPERATORS),
    "incident-release": PageRights(post=APPROVERS),
    # Settings.
    "settings": PageRights(SIGNED_IN),
    "retention": PageRights(SIGNED_IN),
    "password": PageRights(SIGNED_IN, SIGNED_IN),
    "maintenance": PageRights(READERS, OPERATORS),
    "maintenance-cancel": PageRights(post=OPERATORS),
    "system": PageRights(READERS),
    "export": PageRights(READERS),
    "import": PageRights(ADMINISTRATORS, ADMINISTRATORS),
    "demo": PageRights(READERS),
    "demo-start": PageRights(post=ADMINISTRATORS),
    "demo-remove": PageRights(ADMINISTRATORS, ADMINISTRATORS),
    "demo-hide": PageRights(post=SIGNED_IN),
    "people": PageRights(ADMINISTRATORS, ADMINISTRATORS),
    "person": PageRights(ADMINISTRATORS),
    "person-password": PageRights(post=ADMINISTRATORS),
    "person-role": PageRights(post=ADMINISTRATORS),
    "person-deactivate": PageRights(post=ADMINISTRATORS),
    "person-reactivate": PageRights(post=ADMINISTRATORS),
    "person-unlock": PageRights(post=ADMINISTRATORS),
    "person-second-factor": PageRights(post=ADMINISTRATORS),
    "person-grants": PageRights(post=ADMINISTRATORS),
    "grant-take": PageRights(ADMINISTRATORS, ADMINISTRATORS),
    "person-withdraw": PageRights(post=ADMINISTRATORS),
    "teams": PageRights(ADMINISTRATORS, ADMINISTRATORS),
    "team": PageRights(ADMINISTRATORS, ADMINISTRATORS),
    "team-endpoints": PageRights(post=ADMINISTRATORS),
    "team-remove": PageRights(ADMINISTRATORS, ADMINISTRATORS),
    # Their own; those of others are an administrator's.
    "tokens": PageRights(SIGNED_IN, SIGNED_IN),
    "token-revoke": PageRights(SIGNED_IN, SIGNED_IN, unseen=SIGNED_IN - ADMINISTRATORS),
    "tool-rules": PageRights(ADMINISTRATORS, ADMINISTRATORS),
    "tool-rule": PageRights(ADMINISTRATORS, ADMINISTRATORS),
    "tool-rule-move": PageRights(post=ADMINISTRATORS),
    "tool-rule-remove": PageRights(post=ADMINISTRATORS),
    "channels": PageRights(ADMINISTRATORS),
    "channel-new": PageRights(ADMINISTRATORS, ADMINISTRATORS),
    "channel-edit": PageRights(ADMINISTRATORS, ADMINISTRATORS),
    "channel-remove": PageRights(ADMINISTRATORS, ADMINISTRATORS),
    "channel-rotate": PageRights(ADMINISTRATORS, ADMINISTRATORS),
    "channel-test": PageRights(post=ADMINISTRATORS),
    "deliveries": PageRights(ADMINISTRATORS),
    "delivery-result": PageRights(ADMINISTRATORS),
    "delivery-retry": PageRights(post=ADMINISTRATORS),
    # The way in and out.
    "language": PageRights(post=ANYBODY),
    "login": PageRights(ANYBODY, ANYBODY),
    "logout": PageRights(post=SIGNED_IN),
    "login-code": PageRights(ANYBODY, ANYBODY),
    "login-passkey": PageRights(post=ANYBODY),
    "passkey-options": PageRights(post=ANYBODY),
    # Without a provider these do not exist.
    "login-oidc": PageRights(post=ANYBODY, answers=frozenset({404})),
    "login-oidc-back": PageRights(ANYBODY, answers=frozenset({404})),
    "security-link": PageRights(post=SIGNED_IN, answers=frozenset({404})),
    "security-unlink": PageRights(post=SIGNED_IN, answers=frozenset({302, 404})),
    # The person's own.
    "confirm": PageRights(SIGNED_IN, SIGNED_IN),
    "security": PageRights(SIGNED_IN),
    "security-app": PageRights(SIGNED_IN, SIGNED_IN),
    "security-passkey-new": PageRights(SIGNED_IN, SIGNED_IN),
    "security-codes": PageRights(post=SIGNED_IN),
    "security-remove": PageRights(post=SIGNED_IN, unseen=SIGNED_IN - ADMINISTRATORS),
    "sessions": PageRights(SIGNED_IN, SIGNED_IN),
    "session-end": PageRights(post=SIGNED_IN),
    "invitation": PageRights(ANYBODY, ANYBODY),
    # Where DEBUG is off there are none of these.
    "design": PageRights(SIGNED_IN, answers=frozenset({404})),
    "design-toast": PageRights(post=SIGNED_IN, answers=frozenset({404})),
    # For machines.
    "healthz": PageRights(ANYBODY),
    "readyz": PageRights(ANYBODY, answers=frozenset({200, 503})),
    "metrics": PageRights(READERS, is_for_programs=True),
}

# Operations of the API by name: who may use each, with a token of every scope.
OPERATIONS: Mapping[str, frozenset[Persona]] = {
    "list_endpoints": READERS,
    "create_endpoint": OPERATORS,
    "read_endpoint": READERS,
    "change_endpoint": OPERATORS,
    "remove_endpoint": OPERATORS,
    "list_profiles": READERS,
    "list_runs": READERS,
    "request_run": PROBERS,
    "endpoint_metrics": READERS,
    "read_policy": READERS,
    "list_policy_versions": READERS,
    "list_modes": READERS,
    "switch_mode_on": PROBERS,
    "switch_mode_off": PROBERS,
    "list_notes": READERS,
    "add_note": OPERATORS,
    "remove_note": OPERATORS,
    "list_incidents": READERS,
    "read_incident": READERS,
    "acknowledge_incident": OPERATORS,
    "release_incident": APPROVERS,
    "accept_incident": APPROVERS,
    "read_run": READERS,
    "cancel_run": PROBERS,
    "follow_run": READERS,
    "list_attempts": READERS,
    "read_evidence": READERS,
    "run_metrics": READERS,
    "read_gate": READERS,
    "ask_for_stage": OPERATORS,
    "step_back": PROBERS,
    "ask_to_unpin": OPERATORS,
    "list_rollouts": READERS,
    "read_rollout": READERS,
    "approve_rollout": APPROVERS,
    "reject_rollout": APPROVERS,
    "withdraw_rollout": OPERATORS,
    "read_gates": READERS,
    "change_gates": ADMINISTRATORS,
    "list_gate_versions": READERS,
    "list_tool_rules": READERS,
    "list_audit": READERS,
    "list_people": ADMINISTRATORS,
    "list_teams": ADMINISTRATORS,
    "make_team": ADMINISTRATORS,
    "rename_team": ADMINISTRATORS,
    "remove_team": ADMINISTRATORS,
    "deactivate_person": ADMINISTRATORS,
    "give_role": ADMINISTRATORS,
    "take_role": ADMINISTRATORS,
    # Their own; those of others are an administrator's.
    "list_tokens": READERS,
    "revoke_token": READERS,
    # Each event names its endpoint, and is accepted or rejected by itself.
    "send_telemetry": SIGNED_IN,
    # The descriptions of errors, and the OpenAPI document.
    "list_problems": ANYBODY,
    "read_problem": ANYBODY,
}
# The personas that get 404 from an operation: it looks up objects among what they may see.
UNSEEN: Mapping[str, frozenset[Persona]] = {
    "revoke_token": frozenset(
        {Persona.VIEWER, Persona.OPERATOR, Persona.APPROVER, Persona.FOREIGN}
    ),
}
# Streams release their database connection, whose transaction has all rows here; allowed requests
# are tested in tests/dashboard/api.
STREAMS = frozenset({"follow_run"})
