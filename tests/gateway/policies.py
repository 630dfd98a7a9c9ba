"""Endpoints and plans with policies of any stage and mode, without a vendor behind them."""

from __future__ import annotations

from typing import Any

from gateway.plan import Plan, build_plan
from health.modes import Mode
from tests.gateway.running_gateway import live_endpoint

TRUTH: dict[str, Any] = {
    "provider": "openai",
    "model": "sim-steady",
    "base_path": "/openai/v1",
    "capabilities": {
        "schema_level": "strict_json_schema",
        "tool_call_format": "openai",
        "parser": None,
        "supports_parallel_tool_use": True,
        "supports_streaming_tool_use": True,
        "reasoning_replay": "none",
        "error_repair": "reliable",
        "tool_choice": ["auto", "none", "required", "named"],
        "trimmed_history": "taken",
    },
}


def plan_at(stage: str = "full", *modes: Mode, is_aged: bool = False, **measured: Any) -> Plan:
    """The plan of a healthy endpoint at that stage."""
    endpoint = live_endpoint(TRUTH, "http://127.0.0.1:9", stage=stage, modes=modes, **measured)
    return build_plan(endpoint, is_aged=is_aged)
