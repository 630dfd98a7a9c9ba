"""The `toolgauge` command line: one module or folder per command."""

from __future__ import annotations
