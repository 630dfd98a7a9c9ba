"""Only services write rows, and the code that handles runs and decisions."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path

import pytest
from django.apps import apps

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("cli", "config", "dashboard", "gateway", "workers")
MAY_WRITE = (
    "dashboard/migrations/*",
    "dashboard/*/services.py",
    "dashboard/*/services/*",
    "dashboard/runs/*",
    "dashboard/trust/*",
    # They write no facts: sessions are Django's, the others maintain tables.
    "dashboard/accounts/session_store.py",
    "dashboard/core/partitions.py",
    "dashboard/system/retention.py",
)
METHODS = {
    *("save", "create", "update", "delete", "bulk_create", "bulk_update"),
    *("get_or_create", "update_or_create", "create_user", "create_superuser"),
}
ON_RELATIONS = {"add", "remove", "set", "clear"}
STATEMENTS = re.compile(
    r"\b(INSERT\s+INTO|UPDATE\s+\w+\s+(\w+\s+)?SET|DELETE\s+FROM|COPY\s+[\w{]+.*\bFROM\b|TRUNCATE)\b"
)


def test_only_services_write_rows() -> None:
    """Views, pages and commands change rows only through services."""
    sources = {path.relative_to(ROOT).as_posix(): path for path in _sources()}
    violations = [
        f"{name}:{line} {write}"
        for name, path in sources.items()
        if not any(fnmatch(name, pattern) for pattern in MAY_WRITE)
        for line, write in writes_in(path.read_text(encoding="utf-8"))
    ]

    assert violations == []
    assert len(sources) > 300


@pytest.mark.parametrize(
    "source",
    [
        "endpoint.save(update_fields=['slug'])",
        "Endpoint.objects.filter(pk=1).update(slug='x')",
        "Endpoint.objects.update(**changes)",
        "request.user.delete()",
        "await endpoint.asave()",
        "Endpoint.objects.bulk_create(rows)",
        "profile.runs.create(suite='full')",
        "delivery.notices.add(notice)",
        "execute('UPDATE dashboard_run SET state = 1')",
        "execute(f'DELETE FROM {table}')",
        "cursor.copy(f'COPY {table} (a, b) FROM STDIN')",
        "_ADD = 'WITH a AS (SELECT 1) INSERT  INTO b SELECT 1'",
    ],
)
def test_a_write_is_noticed(source: str) -> None:
    """The check above detects every kind of write."""
    assert len(list(writes_in(source))) == 1


@pytest.mark.parametrize(
    "source",
    [
        "from dashboard.endpoints.services import endpoints\nendpoints.create(slug='x')",
        "from dashboard.trust import gates as service\nservice.update(endpoint, by=by)",
        "@router.delete('/x', response={204: None})\ndef f(): ...",
        "schemas.update(more)",
        "image.save(file)",
        "seen.add(1)",
        "execute('SELECT 1 FOR UPDATE SKIP LOCKED')",
        "'''Somebody may UPDATE a SET of rows.'''",
    ],
)
def test_what_writes_no_row_is_left_alone(source: str) -> None:
    """Methods of services, dictionaries and routes with the same names are no writes."""
    assert list(writes_in(source)) == []


def writes_in(source: str) -> Iterator[tuple[int, str]]:
    """The lines of a source that write rows, with the call or statement."""
    tree = ast.parse(source)
    modules, texts = set(_imported_modules(tree)), _docstrings(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and _is_write(node, modules):
            yield node.lineno, ast.unparse(node.func)
        elif isinstance(node, ast.expr) and id(node) not in texts and _is_statement(node):
            yield node.lineno, "a statement"


def _is_write(call: ast.Call, modules: set[str]) -> bool:
    if not isinstance(call.func, ast.Attribute):
        return False
    name, owner = call.func.attr, call.func.value
    if name in ON_RELATIONS:
        return isinstance(owner, ast.Attribute) and owner.attr in _relations()
    if name.removeprefix("a") not in METHODS and name not in METHODS:
        return False
    if isinstance(owner, ast.Name) and (owner.id in modules or owner.id == "router"):
        return False
    # Rows take only keyword arguments; a dictionary takes another dict, and an image a file.
    return name.removeprefix("a") not in {"update", "save"} or not call.args


def _imported_modules(tree: ast.Module) -> Iterator[str]:
    """The names of imported modules of the product."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            folder = ROOT / node.module.replace(".", "/")
            for alias in node.names:
                if (folder / f"{alias.name}.py").exists() or (folder / alias.name).is_dir():
                    yield alias.asname or alias.name


def _docstrings(tree: ast.Module) -> set[int]:
    """Docstrings, which do nothing, and parts of f-strings, which are checked as a whole."""
    standalone = [node.value for node in ast.walk(tree) if isinstance(node, ast.Expr)]
    parts = [
        part for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values
    ]
    return {id(node) for node in [*standalone, *parts]}


def _is_statement(node: ast.expr) -> bool:
    parts = node.values if isinstance(node, ast.JoinedStr) else [node]
    text = "".join(str(part.value) if isinstance(part, ast.Constant) else "x" for part in parts)
    return STATEMENTS.search(text) is not None


def _relations() -> set[str]:
    """The many-to-many fields of our models."""
    models = apps.get_app_config("dashboard").get_models()
    return {field.name for model in models for field in model._meta.many_to_many}


def _sources() -> list[Path]:
    return [path for name in PACKAGES for path in sorted((ROOT / name).rglob("*.py"))]
