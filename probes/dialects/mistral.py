from __future__ import annotations

from probes.dialects.base import Dialect, ReplayRule

MISTRAL = Dialect(
    "mistral",
    ReplayRule.NONE,
    carries=frozenset(),
    id_rule="mistral",
    parallel_switch=True,
    bridge_after_tool=True,
    notes=("Ids of nine alphanumerics; after a result the assistant speaks (PROTOCOLS §9.2).",),
)
