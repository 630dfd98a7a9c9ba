"""Rows are written by services and by what follows from a run or a decision, and nowhere else."""

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
    # They write no facts of their own: sessions are Django's, the others look after the tables.
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
    """A view, page or command that wants to change something calls a service."""
    sources = {path.relative_to(ROOT).as_posix(): path for path in _sources()}
    found = [
        f"{name}:{line} {what}"
        for name, path in sources.items()
        if not any(fnmatch(name, place) for place in MAY_WRITE)
        for line, what in writes_in(path.read_text(encoding="utf-8"))
    ]

    assert found == []
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
    """Otherwise the check above would say nothing."""
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
    """Services are called by such names, and so are dictionaries and routes."""
    assert list(writes_in(source)) == []


def writes_in(source: str) -> Iterator[tuple[int, str]]:
    """The lines of a source that write rows, with what does it."""
    tree = ast.parse(source)
    modules, texts = set(_modules(tree)), _docstrings(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and _is_write(node, modules):
            yield node.lineno, ast.unparse(node.func)
        elif isinstance(node, ast.expr) and id(node) not in texts and _is_statement(node):
            yield node.lineno, "a statement"


def _is_write(call: ast.Call, modules: set[str]) -> bool:
    if not isinstance(call.func, ast.Attribute):
        return False
    name, of = call.func.attr, call.func.value
    if name in ON_RELATIONS:
        return isinstance(of, ast.Attribute) and of.attr in _relations()
    if name.removeprefix("a") not in METHODS and name not in METHODS:
        return False
    if isinstance(of, ast.Name) and (of.id in modules or of.id == "router"):
        return False
    # Rows take names alone; a dictionary takes another one, and an image a file.
    return name.removeprefix("a") not in {"update", "save"} or not call.args


def _modules(tree: ast.Module) -> Iterator[str]:
    """The names that stand for modules of ours."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            folder = ROOT / node.module.replace(".", "/")
            for each in node.names:
                if (folder / f"{each.name}.py").exists() or (folder / each.name).is_dir():
                    yield each.asname or each.name


def _docstrings(tree: ast.Module) -> set[int]:
    """Texts that stand alone say something and do nothing; parts of others are seen with them."""
    alone = [each.value for each in ast.walk(tree) if isinstance(each, ast.Expr)]
    parts = [
        part for each in ast.walk(tree) if isinstance(each, ast.JoinedStr) for part in each.values
    ]
    return {id(each) for each in [*alone, *parts]}


def _is_statement(node: ast.expr) -> bool:
    parts = node.values if isinstance(node, ast.JoinedStr) else [node]
    text = "".join(str(each.value) if isinstance(each, ast.Constant) else "x" for each in parts)
    return STATEMENTS.search(text) is not None


def _relations() -> set[str]:
    """The many-to-many fields of our models."""
    models = apps.get_app_config("dashboard").get_models()
    return {field.name for model in models for field in model._meta.many_to_many}


def _sources() -> list[Path]:
    return [path for name in PACKAGES for path in sorted((ROOT / name).rglob("*.py"))]
