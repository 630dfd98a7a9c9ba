"""The URL of a question: an adapter's path on an operator's base URL."""

from __future__ import annotations

from urllib.parse import quote

from probes.adapters.base import Adapter

VERSIONS = frozenset({"v1", "v1beta", "v1alpha"})


def request_url(adapter: Adapter, base_url: str, model: str, *, stream: bool = False) -> str:
    """The URL of a question. A version at the end of the base URL replaces that of the path."""
    path = adapter.stream_path if stream else adapter.path
    base = base_url.rstrip("/")
    root, last = path.split("/", 2)[1], base.rpartition("/")[2]
    if root == last or {root, last} <= VERSIONS:
        path = path.removeprefix(f"/{root}")
    # Gemini lists its models as "models/NAME", and the path already contains the first half.
    name = quote(model.removeprefix("models/"), safe="")
    return base + path.replace("{model}", name)
