"""Finds and starts a real browser."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from playwright.sync_api import Browser, Playwright

ADVICE = "NO BROWSER: set CHROMIUM_PATH or install chromium"
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


def find_browser(playwright: Playwright) -> str | None:
    """CHROMIUM_PATH, a browser on PATH, or Playwright's own; None if there is none."""
    if path := os.environ.get("CHROMIUM_PATH"):
        return path
    if path := next((executable for name in NAMES if (executable := shutil.which(name))), None):
        return path
    bundled = playwright.chromium.executable_path
    return bundled if Path(bundled).exists() else None


def launch_browser(playwright: Playwright, path: str) -> Browser:
    return playwright.chromium.launch(executable_path=path, args=list(FLAGS))
