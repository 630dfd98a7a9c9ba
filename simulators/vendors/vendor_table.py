"""The registry as a Markdown table."""

from __future__ import annotations

from simulators.vendors.spec import Spec
from simulators.vendors.vendor_registry import SPECS

HEAD = (
    "| vendor | stands for | base path | ask at | key | models (thinks; must come back) "
    "| also serves |"
)


def vendor_table() -> str:
    """One row per vendor."""
    rule = "|" + "---|" * (HEAD.count("|") - 1)
    return "\n".join([HEAD, rule, *(_row(spec) for spec in SPECS)])


def _row(spec: Spec) -> str:
    paths = [spec.path] + ([spec.stream_path] if spec.stream_path != spec.path else [])
    models = [
        f"`{name}` ({model.thinking_mode}; {model.replay})" for name, model in spec.models.items()
    ]
    cells = (
        f"`{spec.name}`",
        spec.title,
        f"`{spec.mount}`",
        "<br>".join(f"`{path}`" for path in paths),
        _key_cell(spec),
        "<br>".join(models),
        "<br>".join(f"`{method} {path}`" for method, path in spec.endpoints),
    )
    return f"| {' | '.join(cells)} |"


def _key_cell(spec: Spec) -> str:
    if spec.auth is None:
        return "none"
    return f"`{spec.auth.header}`" if spec.auth.header else "bearer token"
