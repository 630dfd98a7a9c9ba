"""Rows. Current state on an endpoint is a copy, written with the row that caused it."""

from __future__ import annotations

from dashboard.models.attempt import Attempt
from dashboard.models.credential import Credential
from dashboard.models.endpoint import Endpoint
from dashboard.models.evidence import Evidence
from dashboard.models.profile import Profile
from dashboard.models.run import Run
from dashboard.models.run_metric import RunMetric
from dashboard.models.worker import Worker

__all__ = [
    "Attempt",
    "Credential",
    "Endpoint",
    "Evidence",
    "Profile",
    "Run",
    "RunMetric",
    "Worker",
]
