"""Names in one part of the product must exist in the other."""

from __future__ import annotations

import ast
from pathlib import Path

from dashboard.core import broker
from workers.celery import app

ROOT = Path(__file__).resolve().parents[2]


def test_every_task_that_the_dashboard_names_exists() -> None:
    """The dashboard sends tasks by name; a name without a task would be lost work."""
    app.loader.import_default_modules()

    assert set(broker.TASKS) <= set(app.tasks)


def test_every_scheduled_task_exists() -> None:
    """Every entry of the scheduler's table is an existing task."""
    app.loader.import_default_modules()

    assert {entry["task"] for entry in app.conf.beat_schedule.values()} <= set(app.tasks)


def test_only_the_transports_import_an_http_client() -> None:
    """One file sends what is probed to endpoints, and one what is live."""
    packages = ("probes", "health", "dashboard", "workers", "gateway", "cli", "config")
    importers = {
        str(path.relative_to(ROOT))
        for package in packages
        for path in (ROOT / package).rglob("*.py")
        if imports(path) & {"httpx", "requests", "aiohttp", "urllib3", "urllib.request"}
    }

    assert importers == {"probes/transport.py", "gateway/upstream.py"}


def imports(path: Path) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {node.module}
    return names


def test_migrations_import_nothing_of_the_product() -> None:
    """A later change of the product must not change what an upgrade does."""
    product = {"cli", "config", "dashboard", "gateway", "health", "launcher", "probes", "workers"}
    migrations = (ROOT / "dashboard/migrations").glob("*.py")

    imported = {path.name: roots & product for path in migrations if (roots := packages_of(path))}

    assert len(imported) > 20
    assert {name: names for name, names in imported.items() if names} == {}


def packages_of(path: Path) -> set[str]:
    return {name.partition(".")[0] for name in imports(path)}


def test_no_library_is_used_by_its_internal_modules() -> None:
    """Internal modules of a library change without notice."""
    packages = ("cli", "config", "dashboard", "workers", "tests")
    internal = {
        str(path.relative_to(ROOT))
        for package in packages
        for path in (ROOT / package).rglob("*.py")
        if any("internal" in name.split(".") for name in imports(path))
    }

    assert internal == set()
