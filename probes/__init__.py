"""The tool-call protocol library: no Django, no database, no settings."""

from __future__ import annotations

from probes.adapters import ADAPTERS, adapter_for
from probes.errors import ProbesError, TargetError
from probes.outcomes import Attempt, Evidence, Finding, FindingKind, Metric, Outcome, Verdict
from probes.runner import run_trials
from probes.secret import Secret
from probes.suite import SUITE_VERSION, SUITES, Trial, plan_trials
from probes.target import Limits, ProfileKey, Provider, Target, check_base_url, origin

__all__ = [
    "ADAPTERS",
    "SUITES",
    "SUITE_VERSION",
    "Attempt",
    "Evidence",
    "Finding",
    "FindingKind",
    "Limits",
    "Metric",
    "Outcome",
    "ProbesError",
    "ProfileKey",
    "Provider",
    "Secret",
    "Target",
    "TargetError",
    "Trial",
    "Verdict",
    "adapter_for",
    "check_base_url",
    "origin",
    "plan_trials",
    "run_trials",
]
