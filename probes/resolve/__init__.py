"""From a call as it was written to one that may be believed, or to the reason why not."""

from __future__ import annotations

from probes.resolve.call import resolve_call, resolve_json_call

__all__ = ["resolve_call", "resolve_json_call"]
