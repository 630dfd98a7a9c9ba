"""Rows. Current state on an endpoint is a copy, written with the row that caused it."""

from __future__ import annotations

from dashboard.models.api_token import ApiToken
from dashboard.models.attempt import Attempt
from dashboard.models.credential import Credential
from dashboard.models.endpoint import Endpoint
from dashboard.models.evidence import Evidence
from dashboard.models.fingerprint_change import FingerprintChange
from dashboard.models.observation_batch import ObservationBatch
from dashboard.models.pinned_evidence import Pin, PinnedEvidence
from dashboard.models.profile import Profile
from dashboard.models.pulse import Pulse
from dashboard.models.rollup import Rollup5m, RollupDay, RollupHour
from dashboard.models.run import Run
from dashboard.models.run_metric import RunMetric
from dashboard.models.spend import Spend
from dashboard.models.worker import Worker

__all__ = [
    "ApiToken",
    "Attempt",
    "Credential",
    "Endpoint",
    "Evidence",
    "FingerprintChange",
    "ObservationBatch",
    "Pin",
    "PinnedEvidence",
    "Profile",
    "Pulse",
    "Rollup5m",
    "RollupDay",
    "RollupHour",
    "Run",
    "RunMetric",
    "Spend",
    "Worker",
]
