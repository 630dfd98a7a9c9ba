"""Discovers the models of an Ollama on this machine, to offer them as the first endpoint."""

from __future__ import annotations

import json
from dataclasses import dataclass
from urllib.parse import urlencode

from asgiref.sync import async_to_sync

from dashboard.core import egress_grants
from dashboard.core.sql import release_connection
from dashboard.endpoints.presets import provider_preset
from probes.egress_rules import EgressRules
from probes.errors import ProbesError
from probes.http_messages import WireRequest
from probes.target import Limits, Provider
from probes.transport import Transport

MAX_MODELS = 6
# Short: it runs on this machine or not at all.
_LIMITS = Limits(connect_s=1, first_byte_s=2, idle_s=2, total_s=2, max_bytes=256 * 1024)


@dataclass(frozen=True, slots=True)
class OllamaModel:
    name: str

    @property
    def query(self) -> str:
        """The query string of the form for a new endpoint."""
        return urlencode({"preset": "ollama", "model": self.name})


def discover_models() -> list[OllamaModel] | None:
    """The first models of the local Ollama, or None if it does not respond."""
    rules = egress_grants.read_egress_rules()
    release_connection()
    return async_to_sync(_fetch_models)(rules)


async def _fetch_models(rules: EgressRules) -> list[OllamaModel] | None:
    url = f"{provider_preset(Provider.OLLAMA).base_url}/api/tags"
    try:
        async with Transport(_LIMITS, egress=rules) as transport:
            response = await transport.send(WireRequest("GET", url, {}))
    except ProbesError:
        return None
    return parse_models(response.body) if response.status == 200 else None


def parse_models(body: bytes) -> list[OllamaModel] | None:
    """The models in a response body, or None: another server may use the port."""
    try:
        listed = json.loads(body)["models"]
        names = [str(model["name"])[:200] for model in listed[:MAX_MODELS]]
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    return [OllamaModel(name) for name in names]
