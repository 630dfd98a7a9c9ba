"""Gives each parallel test process its own broker database; loaded before the settings."""

from __future__ import annotations

import os

# Databases of one server do not see each other's keys. xdist names its processes gw0, gw1...
if (worker := os.environ.get("PYTEST_XDIST_WORKER")) and "REDIS_URL" in os.environ:
    address, _, _ = os.environ["REDIS_URL"].rpartition("/")
    os.environ["REDIS_URL"] = f"{address}/{int(worker.removeprefix('gw')) + 1}"
