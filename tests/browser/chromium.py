"""Finding and starting a real browser."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from playwright.sync_api import Browser, Playwright

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


def find(playwright: Playwright) -> str | None:
    """CHROMIUM_PATH, a browser on PATH, or playwright's own; None where there is none."""
    if path := os.environ.get("CHROMIUM_PATH"):
        return path
    if path := next((found for name in NAMES if (found := shutil.which(name))), None):
        return path
    own = playwright.chromium.executable_path
    return own if Path(own).exists() else None


def launch(playwright: Playwright, path: str) -> Browser:
    return playwright.chromium.launch(executable_path=path, args=list(FLAGS))
