"""How the small model inside reads a prompt: which tools it asks for, and with which values."""

from __future__ import annotations
