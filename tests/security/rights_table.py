"""Who may do what at every address: the one table that the matrix of rights is generated from.

It repeats on purpose what views declare (dashboard/core/permissions.py), so that a right changed by
mistake in one of the two places is noticed. A new address needs an entry here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum


class Who(StrEnum):
    """Everybody the matrix asks for; all but the last have their roles in the endpoint's team."""

    ANONYMOUS = "anonymous"
    NOBODY = "somebody without a role"
    VIEWER = "viewer"
    OPERATOR = "operator"
    APPROVER = "approver"
    ADMINISTRATOR = "administrator"
    FOREIGN = "operator of another team"


READERS = frozenset({Who.VIEWER, Who.OPERATOR, Who.APPROVER, Who.ADMINISTRATOR})
# Those who may ask for runs, switch modes on and step back.
PROBERS = frozenset({Who.OPERATOR, Who.APPROVER, Who.ADMINISTRATOR})
OPERATORS = frozenset({Who.OPERATOR, Who.ADMINISTRATOR})
APPROVERS = frozenset({Who.APPROVER, Who.ADMINISTRATOR})
ADMINISTRATORS = frozenset({Who.ADMINISTRATOR})
SIGNED_IN = frozenset(Who) - {Who.ANONYMOUS}
ANYBODY = frozenset(Who)

_FINE = frozenset({200, 204, 302})


@dataclass(frozen=True, slots=True)
class Page:
    """Who may read it and who may send something there; None where that is no way to use it.

    `answers` are the statuses that those who may get: there is more to it than a right. For those
    in `unseen` it is not there: the view looks it up among what they may see.
    """

    get: frozenset[Who] | None = None
    post: frozenset[Who] | None = None
    answers: frozenset[int] = _FINE
    unseen: frozenset[Who] = frozenset()


# By the names of their addresses.
PAGES: Mapping[str, Page] = {
    # The fleet, endpoints and their runs.
    "fleet": Page(READERS),
    "fleet-rows": Page(READERS),
    "compare": Page(READERS),
    "compare-export": Page(READERS),
    "nearby": Page(OPERATORS),
    "endpoint": Page(READERS),
    "endpoint-new": Page(OPERATORS, OPERATORS),
    "endpoint-new-try": Page(post=OPERATORS),
    "endpoint-edit": Page(OPERATORS, OPERATORS),
    "endpoint-try": Page(post=OPERATORS),
    "endpoint-remove": Page(OPERATORS, OPERATORS),
    "endpoint-runs": Page(READERS),
    "endpoint-run": Page(READERS),
    "endpoint-probe": Page(PROBERS, PROBERS),
    "endpoint-chart": Page(READERS),
    "endpoint-points": Page(READERS),
    "endpoint-export": Page(READERS),
    "endpoint-notes": Page(READERS, OPERATORS),
    "note-remove": Page(post=OPERATORS),
    "endpoint-policy": Page(READERS),
    "endpoint-modes": Page(READERS, PROBERS),
    "mode-off": Page(post=PROBERS),
    "mode-release": Page(post=OPERATORS),
    "endpoint-accept": Page(APPROVERS, APPROVERS),
    "run": Page(READERS),
    "run-progress": Page(READERS),
    "run-cancel": Page(post=PROBERS),
    "run-attempts": Page(READERS),
    "run-bundle": Page(READERS),
    "attempt": Page(READERS),
    "attempt-difference": Page(READERS),
    "attempt-bundle": Page(READERS),
    "attempt-chunks": Page(READERS),
    "attempt-raw": Page(READERS),
    # Rollouts.
    "rollouts": Page(READERS),
    "rollout": Page(READERS),
    "rollout-ask": Page(post=OPERATORS),
    "rollout-decide": Page(post=APPROVERS),
    "rollout-withdraw": Page(post=OPERATORS),
    "rollout-step-back": Page(PROBERS, PROBERS),
    "gates": Page(READERS, ADMINISTRATORS),
    # What was done.
    "audit": Page(READERS),
    "audit-export": Page(READERS),
    "audit-entry": Page(READERS, unseen=frozenset({Who.FOREIGN})),
    # Incidents.
    "incidents": Page(READERS),
    "incident": Page(READERS),
    "incident-acknowledge": Page(post=OPERATORS),
    "incident-release": Page(post=APPROVERS),
    # Settings.
    "settings": Page(SIGNED_IN),
    "retention": Page(SIGNED_IN),
    "password": Page(SIGNED_IN, SIGNED_IN),
    "maintenance": Page(READERS, OPERATORS),
    "maintenance-cancel": Page(post=OPERATORS),
    "system": Page(READERS),
    "export": Page(READERS),
    "import": Page(ADMINISTRATORS, ADMINISTRATORS),
    "demo": Page(READERS),
    "demo-start": Page(post=ADMINISTRATORS),
    "demo-remove": Page(ADMINISTRATORS, ADMINISTRATORS),
    "demo-hide": Page(post=SIGNED_IN),
    "people": Page(ADMINISTRATORS, ADMINISTRATORS),
    "person": Page(ADMINISTRATORS),
    "person-password": Page(post=ADMINISTRATORS),
    "person-role": Page(post=ADMINISTRATORS),
    "person-deactivate": Page(post=ADMINISTRATORS),
    "person-reactivate": Page(post=ADMINISTRATORS),
    "person-unlock": Page(post=ADMINISTRATORS),
    "person-second-factor": Page(post=ADMINISTRATORS),
    "person-grants": Page(post=ADMINISTRATORS),
    "grant-take": Page(ADMINISTRATORS, ADMINISTRATORS),
    "person-withdraw": Page(post=ADMINISTRATORS),
    "teams": Page(ADMINISTRATORS, ADMINISTRATORS),
    "team": Page(ADMINISTRATORS, ADMINISTRATORS),
    "team-endpoints": Page(post=ADMINISTRATORS),
    "team-remove": Page(ADMINISTRATORS, ADMINISTRATORS),
    # Their own; those of others are an administrator's.
    "tokens": Page(SIGNED_IN, SIGNED_IN),
    "token-revoke": Page(SIGNED_IN, SIGNED_IN, unseen=SIGNED_IN - ADMINISTRATORS),
    "tool-rules": Page(ADMINISTRATORS, ADMINISTRATORS),
    "tool-rule": Page(ADMINISTRATORS, ADMINISTRATORS),
    "tool-rule-move": Page(post=ADMINISTRATORS),
    "tool-rule-remove": Page(post=ADMINISTRATORS),
    "channels": Page(ADMINISTRATORS),
    "channel-new": Page(ADMINISTRATORS, ADMINISTRATORS),
    "channel-edit": Page(ADMINISTRATORS, ADMINISTRATORS),
    "channel-remove": Page(ADMINISTRATORS, ADMINISTRATORS),
    "channel-rotate": Page(ADMINISTRATORS, ADMINISTRATORS),
    "channel-test": Page(post=ADMINISTRATORS),
    "deliveries": Page(ADMINISTRATORS),
    "delivery-result": Page(ADMINISTRATORS),
    "delivery-retry": Page(post=ADMINISTRATORS),
    # The way in and out.
    "language": Page(post=ANYBODY),
    "login": Page(ANYBODY, ANYBODY),
    "logout": Page(post=SIGNED_IN),
    "login-code": Page(ANYBODY, ANYBODY),
    "login-passkey": Page(post=ANYBODY),
    "passkey-options": Page(post=ANYBODY),
    # Where no provider is set up there are none of these.
    "login-oidc": Page(post=ANYBODY, answers=frozenset({404})),
    "login-oidc-back": Page(ANYBODY, answers=frozenset({404})),
    "security-link": Page(post=SIGNED_IN, answers=frozenset({404})),
    "security-unlink": Page(post=SIGNED_IN, answers=frozenset({302, 404})),
    # One's own.
    "confirm": Page(SIGNED_IN, SIGNED_IN),
    "security": Page(SIGNED_IN),
    "security-app": Page(SIGNED_IN, SIGNED_IN),
    "security-passkey-new": Page(SIGNED_IN, SIGNED_IN),
    "security-codes": Page(post=SIGNED_IN),
    "security-remove": Page(post=SIGNED_IN, unseen=SIGNED_IN - ADMINISTRATORS),
    "sessions": Page(SIGNED_IN, SIGNED_IN),
    "session-end": Page(post=SIGNED_IN),
    "invitation": Page(ANYBODY, ANYBODY),
    # Where DEBUG is off there are none of these.
    "design": Page(SIGNED_IN, answers=frozenset({404})),
    "design-toast": Page(post=SIGNED_IN, answers=frozenset({404})),
    # For machines.
    "healthz": Page(ANYBODY),
    "readyz": Page(ANYBODY, answers=frozenset({200, 503})),
    "metrics": Page(ANYBODY),
}

# Of the API, by the names of its operations: who may, with a token of every scope.
OPERATIONS: Mapping[str, frozenset[Who]] = {
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
    # Each event says whose endpoint it is of, and is taken or refused by itself.
    "send_telemetry": SIGNED_IN,
    # What the answers of the API mean, and what it offers.
    "list_problems": ANYBODY,
    "read_problem": ANYBODY,
}
# For whom what an operation names is not there: it is looked up among what they may see.
UNSEEN: Mapping[str, frozenset[Who]] = {
    "revoke_token": frozenset({Who.VIEWER, Who.OPERATOR, Who.APPROVER, Who.FOREIGN}),
}
# They hand their connection to the database back, which here holds all rows: whoever is let in is
# read in tests/dashboard/api.
STREAMS = frozenset({"follow_run"})
