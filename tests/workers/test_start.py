from __future__ import annotations

import os
import re
import subprocess
import sys
from urllib.parse import urlsplit

import pytest
from django.conf import settings

from tests.live import ROOT

CODE = """
import sys
from workers import app
app.loader.import_default_modules()
print(*sorted(app.tasks), *sorted(sys.modules), sep="\\n")
"""


def test_a_worker_starts_without_the_pages() -> None:
    """It loads its tasks, and neither the addresses nor the libraries of charts and API."""
    result = subprocess.run(
        [sys.executable, "-c", CODE], cwd=ROOT, capture_output=True, text=True, check=True
    )

    loaded = set(result.stdout.split())
    assert "workers.probing.run_suite" in loaded
    assert not loaded & {"dashboard.urls", "dashboard.api_root", "ninja", "plotly"}


@pytest.mark.parametrize(
    ("program", "variable", "url"),
    [
        ("worker", "DATABASE_URL", "postgresql://a:pw-4711@127.0.0.1:1/b"),
        ("worker", "REDIS_URL", "the broker of the tests, with a wrong password"),
        ("beat", "REDIS_URL", "redis://:pw-4711@no-such-host.invalid/0"),
    ],
)
def test_a_wrong_server_ends_a_worker_with_a_sentence(
    db: None, program: str, variable: str, url: str
) -> None:
    """It names the variable and what to do; these servers do not come back by themselves."""
    broker = urlsplit(settings.REDIS_URL)
    if "://" not in url:
        url = f"redis://:pw-4711@{broker.hostname}:{broker.port}/0"
    command = [sys.executable, "-m", "celery", "--quiet", "-A", "workers", program]
    result = run_program(command, **{variable: url})

    assert result.returncode == 2, result.stderr
    assert variable in result.stderr
    assert not re.search("Traceback|pw-4711", result.stderr)


def test_a_wrong_database_ends_a_command_with_a_sentence() -> None:
    """Also commands of Django say what to do, and end with exit code 2."""
    url = "postgresql://a:pw-4711@127.0.0.1:1/b"
    result = run_program([sys.executable, "manage.py", "migrate"], DATABASE_URL=url)

    assert result.returncode == 2, result.stderr
    assert "Postgres cannot be reached" in result.stderr
    assert not re.search("Traceback|pw-4711", result.stderr)
    assert len(result.stderr.splitlines()) == 1


def run_program(command: list[str], **variables: str) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, **variables}
    return subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=False)
