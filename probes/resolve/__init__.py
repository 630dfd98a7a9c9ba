"""From a call as it was written to one that may be believed, or to the reason why not."""

from __future__ import annotations

from probes.resolve.call import resolve, resolve_json

__all__ = ["resolve", "resolve_json"]
