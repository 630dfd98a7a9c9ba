"""How the simulated model reads a prompt: which tools it requests, and with which values."""

from __future__ import annotations
