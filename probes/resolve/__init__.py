"""Resolves a call as written into an executable call, or into the reason why it is not."""

from __future__ import annotations

from probes.resolve.call import resolve_call, resolve_json_call

__all__ = ["resolve_call", "resolve_json_call"]
