"""The product's Celery app with a suite of one trial, for `benchmarks.claiming`.

Everything else is unchanged: claims, leases, the engine query, attempts, the end of a run. A suite
of eleven attempts would measure probing, which `benchmarks.probing` does.
"""

from __future__ import annotations

import probes.suite

probes.suite.SUITES = {"light": (("format", 1),), "full": (("format", 1),)}

from workers.celery import app  # noqa: E402 -- the suite must be short before anything reads it

__all__ = ["app"]
