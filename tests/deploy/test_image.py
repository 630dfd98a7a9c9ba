from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
DOCKERFILE = (ROOT / "Dockerfile").read_text()
IGNORED = (ROOT / ".dockerignore").read_text().splitlines()


def test_image_installs_only_what_is_pinned_by_hash() -> None:
    """Every download is checked by its hash; the project itself is installed without an index."""
    installs = [line for line in DOCKERFILE.splitlines() if "pip install" in line]

    assert installs
    assert all("--require-hashes" in line or "--no-index" in line for line in installs)
    assert "dev.txt" not in DOCKERFILE


def test_image_does_not_run_as_root() -> None:
    """The last user named in the image is not root."""
    users = [line.split()[1] for line in DOCKERFILE.splitlines() if line.startswith("USER")]

    assert users[-1] not in {"root", "0"}


def test_image_takes_only_what_is_listed() -> None:
    """The build context has no data, history or secrets: only the listed folders."""
    included = {line.removeprefix("!") for line in IGNORED if line.startswith("!")}

    assert IGNORED[1] == "*"
    assert included.isdisjoint({".env", ".git", "var", ".venv", "tests"})
    assert all((ROOT / name).exists() for name in included)
