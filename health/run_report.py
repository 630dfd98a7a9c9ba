"""A finished run as one JSON document: capabilities, metrics and the evidence for both."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from health.capabilities import derive_capabilities, settle_verdicts
from health.capability import Capability
from health.client_view import ClientView, view_as_client
from health.dialect_suggestion import DialectSuggestion, suggest_dialect
from health.rates import Rate, metric_rate
from probes.adapters import adapter_for
from probes.messages import JSON
from probes.outcomes import Attempt, Metric, Verdict
from probes.suite import SUITE_VERSION
from probes.target import ProfileKey, Provider


@dataclass(frozen=True, slots=True)
class Report:
    """The results of one run of one endpoint."""

    key: ProfileKey
    verified_at: datetime
    attempts: Sequence[Attempt]
    fingerprint: Mapping[str, JSON] = field(default_factory=dict)

    @property
    def capabilities(self) -> dict[str, Capability]:
        return derive_capabilities(self.attempts, self._wire)

    @property
    def metrics(self) -> dict[Metric, Rate]:
        parser = self.capabilities["parser"].value
        return compute_rates(
            settle_verdicts(self.attempts, parser if isinstance(parser, str) else None)
        )

    @property
    def client_view(self) -> ClientView:
        values = {name: capability.value for name, capability in self.capabilities.items()}
        return view_as_client(values, self._wire)

    @property
    def _wire(self) -> str:
        return adapter_for(Provider(self.key.provider)).format

    @property
    def dialect_suggestion(self) -> DialectSuggestion | None:
        return suggest_dialect(
            self.key.provider,
            str(self.fingerprint.get("dialect", "")),
            findings={finding.kind for each in self.attempts for finding in each.findings},
            capabilities={name: field.as_json() for name, field in self.capabilities.items()},
        )

    def as_json(self) -> dict[str, JSON]:
        capabilities, suggestion = self.capabilities, self.dialect_suggestion
        return {
            "key": self.key.as_json(),
            "fingerprint": dict(self.fingerprint),
            "probe_version": SUITE_VERSION,
            "verified_at": self.verified_at.isoformat(),
            "capabilities": {name: capability.value for name, capability in capabilities.items()},
            "confidence": {name: capability.as_json() for name, capability in capabilities.items()},
            "client_view": self.client_view.as_json(),
            "dialect_suggestion": suggestion.as_json() if suggestion else None,
            "metrics": {str(metric): rate_json(rate) for metric, rate in self.metrics.items()},
            "results": [attempt_json(attempt) for attempt in self.attempts],
            "usage": usage_json(self.attempts),
        }


def compute_rates(verdicts: Iterable[Verdict]) -> dict[Metric, Rate]:
    """The rate of every metric, also of metrics without trials."""
    trials: Counter[Metric] = Counter()
    failures: Counter[Metric] = Counter()
    for verdict in verdicts:
        trials[verdict.metric] += 1
        failures[verdict.metric] += not verdict.good
    return {metric: metric_rate(metric, trials[metric], failures[metric]) for metric in Metric}


def rate_json(rate: Rate) -> dict[str, JSON]:
    return {
        "trials": rate.trials,
        "failures": rate.failures,
        "rate": rate.value,
        "low": rate.low,
        "high": rate.high,
    }


def attempt_json(attempt: Attempt) -> dict[str, JSON]:
    return {
        "probe": attempt.probe,
        "trial": attempt.trial,
        "outcome": str(attempt.outcome),
        "findings": [finding.as_json() for finding in attempt.findings],
        "facts": dict(attempt.facts),
        "latency_ms": attempt.latency_ms,
        "evidence": attempt.evidence.as_json(),
    }


def count_retries(attempts: Iterable[Attempt]) -> Counter[str]:
    """How many answers of each status were retried."""
    total: Counter[str] = Counter()
    for attempt in attempts:
        total.update(attempt.retried)
    return total


def usage_json(attempts: Sequence[Attempt]) -> dict[str, JSON]:
    """Requests, tokens and latency of a whole run; null where no answer reported its tokens."""

    def total(counts: list[int | None]) -> int | None:
        known = [count for count in counts if count is not None]
        return sum(known) if known else None

    latencies = sorted(a.latency_ms for a in attempts if a.latency_ms is not None)
    return {
        "attempts": len(attempts),
        "requests": sum(attempt.evidence.requests for attempt in attempts),
        "retried": dict(count_retries(attempts)),
        "input_tokens": total([attempt.usage.input_tokens for attempt in attempts]),
        "output_tokens": total([attempt.usage.output_tokens for attempt in attempts]),
        "reasoning_tokens": total([attempt.usage.reasoning_tokens for attempt in attempts]),
        "latency_ms_median": latencies[len(latencies) // 2] if latencies else None,
        "latency_ms_max": latencies[-1] if latencies else None,
    }
