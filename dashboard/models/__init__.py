"""Rows. Current state on an endpoint is a copy, written with the row that caused it."""

from __future__ import annotations

from dashboard.models.api import KeptAnswer
from dashboard.models.attempt import Attempt, Evidence, Pin, PinnedEvidence
from dashboard.models.audit import AuditEntry, AuditLink
from dashboard.models.endpoint import Applied, Credential, Endpoint, EndpointEdit, Note
from dashboard.models.mode import ModeSwitch, ToolRule
from dashboard.models.notification import Channel, Delivery, MaintenanceWindow, Notice
from dashboard.models.observation import ObservationBatch, Rollup5m, RollupDay, RollupHour
from dashboard.models.people import ApiToken, DrawnPassword, Grant, Invitation, Team, TryCount
from dashboard.models.policy import Policy, PolicyVersion
from dashboard.models.profile import Profile
from dashboard.models.rollout import GateVersion, RolloutRequest
from dashboard.models.run import FingerprintChange, Pulse, Run, RunMetric, Spend, Worker
from dashboard.models.session import LoginFailure, PersonSession
from dashboard.models.watch import Incident, Watch, WatchEvent

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
    "LoginFailure",
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
