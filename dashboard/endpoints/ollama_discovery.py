"""Whether Ollama runs on this machine: then the first endpoint is one click away."""

from __future__ import annotations

import json
from dataclasses import dataclass
from urllib.parse import urlencode

from asgiref.sync import async_to_sync

from dashboard.core import egress_grants
from dashboard.core.sql import release_connection
from dashboard.endpoints.presets import of_provider
from probes.egress_rules import EgressRules
from probes.errors import ProbesError
from probes.http_messages import WireRequest
from probes.target import Limits, Provider
from probes.transport import Transport

MOST = 6
# It is on this machine or it is not there: nobody waits for it.
_LIMITS = Limits(connect_s=1, first_byte_s=2, idle_s=2, total_s=2, max_bytes=256 * 1024)


@dataclass(frozen=True, slots=True)
class Model:
    name: str

    @property
    def query(self) -> str:
        """What the form of a new endpoint is opened with."""
        return urlencode({"preset": "ollama", "model": self.name})


def ollama_models() -> list[Model] | None:
    """The first few models that it has, or None where it does not answer."""
    rules = egress_grants.read_egress_rules()
    release_connection()
    return async_to_sync(_ask)(rules)


async def _ask(rules: EgressRules) -> list[Model] | None:
    url = f"{of_provider(Provider.OLLAMA).base_url}/api/tags"
    try:
        async with Transport(_LIMITS, egress=rules) as transport:
            incoming = await transport.send(WireRequest("GET", url, {}))
    except ProbesError:
        return None
    return read_models(incoming.body) if incoming.status == 200 else None


def read_models(body: bytes) -> list[Model] | None:
    """The names in what came back; whoever answers there need not be Ollama."""
    try:
        listed = json.loads(body)["models"]
        names = [str(model["name"])[:200] for model in listed[:MOST]]
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    return [Model(name) for name in names]
