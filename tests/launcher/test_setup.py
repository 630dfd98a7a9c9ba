from __future__ import annotations

import ast
import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path

import pytest

from launcher import setup
from launcher.errors import LaunchError
from launcher.setup import ROOT, is_set_up, setuptools_requirements, write_owner_mark, write_stamp


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with an environment that was set up for `dev`; nothing is downloaded."""
    root = tmp_path / "project"
    (root / "requirements").mkdir(parents=True)
    for name in (
        "pyproject.toml",
        *(f"requirements/{n}.txt" for n in ("bootstrap", "embedded", "dev")),
    ):
        (root / name).write_text(f"# {name}\n")
    venv.create(root / ".venv", with_pip=False, symlinks=True)
    write_owner_mark(root)
    write_stamp(root, "dev")
    return root


def test_help_needs_no_set_up_and_works_from_anywhere(tmp_path: Path) -> None:
    """`./run --help` works at once, from any folder, with only a Python."""
    result = subprocess.run(
        [sys.executable, "-S", "-I", ROOT / "run", "--help"],
        cwd=tmp_path,
        env={"PATH": os.defpath},
        capture_output=True,
        text=True,
        check=True,
    )

    assert "./run test [--all] [pytest arguments]" in result.stdout


def test_run_can_be_read_by_an_old_python() -> None:
    """The message about the version would never appear if the file itself did not parse."""
    source = (ROOT / "run").read_text()

    tree = ast.parse(source, feature_version=(3, 4))

    assert not [node for node in ast.walk(tree) if isinstance(node, ast.JoinedStr)]


def test_development_requirements_serve_for_both(project: Path) -> None:
    """After `./run test`, `./run` starts without installing anything."""
    assert is_set_up(project, "dev")
    assert is_set_up(project, "embedded")


def test_tests_need_more_than_the_server(project: Path) -> None:
    """After `./run` alone, `./run test` still has to install its tools."""
    (project / ".venv" / "stamp-dev").unlink()
    write_stamp(project, "embedded")

    assert is_set_up(project, "embedded")
    assert not is_set_up(project, "dev")


@pytest.mark.parametrize("changed", ["pyproject.toml", "requirements/embedded.txt"])
def test_changed_requirements_are_installed_again(project: Path, changed: str) -> None:
    """A pull that moves pins makes the next start install them."""
    (project / changed).write_text("# moved\n")

    assert not is_set_up(project, "embedded")


def test_moved_folder_is_set_up_again(project: Path, tmp_path: Path) -> None:
    """Scripts in an environment contain its path, so a moved clone creates a new one."""
    moved = tmp_path / "moved"
    project.rename(moved)

    assert not is_set_up(moved, "embedded")


def test_environment_without_its_python_is_set_up_again(project: Path) -> None:
    """When the Python that made the environment is gone, another one is used."""
    for link in (project / ".venv" / "bin").glob("python*"):
        link.unlink()
    (project / ".venv" / "bin" / "python").symlink_to("/nonexistent/python3")

    assert not is_set_up(project, "embedded")


def test_interrupted_set_up_is_repeated(project: Path) -> None:
    """Without its stamp, which is written last, an environment counts as unfinished."""
    (project / ".venv" / "stamp-dev").unlink()

    assert not is_set_up(project, "dev")


def test_setuptools_can_be_had_without_uv() -> None:
    """Without uv for the platform, the rest of the bootstrap is still pinned by hash."""
    bootstrap = (ROOT / "requirements" / "bootstrap.txt").read_text()

    alone = setuptools_requirements(bootstrap)

    assert alone.startswith("setuptools==")
    assert "--hash=sha256:" in alone
    assert "uv==" not in alone


def test_missing_venv_support_names_the_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a Debian without python3-venv the message says what to install."""
    monkeypatch.setattr("importlib.util.find_spec", lambda _name: None)

    with pytest.raises(LaunchError, match=r"apt install python3\.\d+-venv"):
        setup.set_up(_bare_project(tmp_path), "embedded")


def _bare_project(tmp_path: Path) -> Path:
    shutil.copytree(ROOT / "requirements", tmp_path / "requirements")
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return tmp_path
