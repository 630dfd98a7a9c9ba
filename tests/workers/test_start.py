from __future__ import annotations

import subprocess
import sys

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
