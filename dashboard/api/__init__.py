"""What every part of the HTTP API shares. Its routers are mounted in `dashboard/api_root.py`."""

from __future__ import annotations
