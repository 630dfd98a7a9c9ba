"""Rows. Current state on an endpoint is a copy, written with the row that caused it."""

from __future__ import annotations

from dashboard.models.api_token import ApiToken
from dashboard.models.applied import Applied
from dashboard.models.attempt import Attempt
from dashboard.models.audit import AuditEntry, AuditLink
from dashboard.models.channel import Channel, Delivery
from dashboard.models.credential import Credential
from dashboard.models.endpoint import Endpoint
from dashboard.models.endpoint_edit import EndpointEdit
from dashboard.models.evidence import Evidence
from dashboard.models.fingerprint_change import FingerprintChange
from dashboard.models.gate_version import GateVersion
from dashboard.models.invitation import DrawnPassword, Invitation
from dashboard.models.kept_answer import KeptAnswer
from dashboard.models.maintenance import MaintenanceWindow
from dashboard.models.mode_switch import ModeSwitch
from dashboard.models.note import Note
from dashboard.models.notice import Notice
from dashboard.models.observation_batch import ObservationBatch
from dashboard.models.person_session import PersonSession
from dashboard.models.pinned_evidence import Pin, PinnedEvidence
from dashboard.models.policy import Policy, PolicyVersion
from dashboard.models.profile import Profile
from dashboard.models.pulse import Pulse
from dashboard.models.rollout_request import RolloutRequest
from dashboard.models.rollup import Rollup5m, RollupDay, RollupHour
from dashboard.models.run import Run
from dashboard.models.run_metric import RunMetric
from dashboard.models.spend import Spend
from dashboard.models.team import Grant, Team
from dashboard.models.tool_rule import ToolRule
from dashboard.models.try_count import TryCount
from dashboard.models.watch import Incident, Watch, WatchEvent
from dashboard.models.worker import Worker

__all__ = [
    "ApiToken",
    "Applied",
    "Attempt",
    "AuditEntry",
    "AuditLink",
    "Channel",
    "Credential",
    "Delivery",
    "DrawnPassword",
    "Endpoint",
    "EndpointEdit",
    "Evidence",
    "FingerprintChange",
    "GateVersion",
    "Grant",
    "Incident",
    "Invitation",
    "KeptAnswer",
    "MaintenanceWindow",
    "ModeSwitch",
    "Note",
    "Notice",
    "ObservationBatch",
    "PersonSession",
    "Pin",
    "PinnedEvidence",
    "Policy",
    "PolicyVersion",
    "Profile",
    "Pulse",
    "RolloutRequest",
    "Rollup5m",
    "RollupDay",
    "RollupHour",
    "Run",
    "RunMetric",
    "Spend",
    "Team",
    "ToolRule",
    "TryCount",
    "Watch",
    "WatchEvent",
    "Worker",
]
