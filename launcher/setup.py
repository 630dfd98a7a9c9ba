"""Set-up of the virtual environment. Runs before anything is installed: standard library only."""

from __future__ import annotations

import fcntl
import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from launcher.errors import LaunchError

ROOT = Path(__file__).resolve().parent.parent

USAGE = """\
usage: ./run [--port N] [--data-dir DIR] [--no-demo]   set up, then run the whole product
       ./run test [--all] [pytest arguments]           set up, then run all checks and tests
       ./run test --fast                               set up, then run what needs no servers
       ./run check                                     set up, then run the checks alone

  --port N        port of the web pages (8000; 0 takes any free one)
  --data-dir DIR  where the database, keys and logs live (var/)
  --no-demo       do not register the simulated vendors on the first start

DATABASE_URL and REDIS_URL, when set, are used instead of servers of our own.
Everything that is installed goes into .venv; a second start skips the set-up.
With pytest arguments `./run test` leaves out the checks, and starts servers only for tests that
need them. --all repeats what the gate does less often, such as killing processes.
"""

# dev contains everything of embedded at the same pins, so it satisfies both.
SATISFIED_BY = {"embedded": ("embedded", "dev"), "dev": ("dev",)}


def main(arguments: Sequence[str]) -> int:
    """Set up what the command needs, then exec it."""
    if arguments and arguments[0] in {"-h", "--help"}:
        sys.stdout.write(USAGE)
        return 0
    try:
        if arguments and arguments[0] in {"test", "check"}:
            set_up(ROOT, "dev")
            _exec_tests(arguments)
        else:
            set_up(ROOT, "embedded")
            _exec_server(arguments)
    except LaunchError as exc:
        _print_line(f"\n{exc}")
        return 2
    except KeyboardInterrupt:
        _print_line("\nStopped during set-up. Start ./run again to finish it.")
        return 130
    return 0


def set_up(root: Path, requirements: str) -> None:
    """Install the pinned requirements into `.venv`, unless its stamp says that they are there."""
    if is_set_up(root, requirements):
        return
    with _setup_lock(root / ".setup.lock"):
        if is_set_up(root, requirements):
            return
        _make_environment(root)
        _install(root, requirements)
        write_stamp(root, requirements)


def is_set_up(root: Path, requirements: str) -> bool:
    """Return whether the environment works, belongs to this folder and has the requirements."""
    stamped = any(
        _read_if_exists(_stamp_file(root, name)) == requirements_digest(root, name)
        for name in SATISFIED_BY[requirements]
    )
    return stamped and _environment_is_ours(root)


def write_owner_mark(root: Path) -> None:
    """Record in a new environment for which folder and Python it was created."""
    (root / ".venv" / "made-for").write_text(_environment_mark(root))


def write_stamp(root: Path, requirements: str) -> None:
    """Record that the environment has the requirements; the last step of the set-up."""
    _stamp_file(root, requirements).write_text(requirements_digest(root, requirements))


def requirements_digest(root: Path, requirements: str) -> str:
    """Return a hash of all files that determine the content of the environment."""
    names = {"bootstrap", "embedded", requirements}
    files = [root / "pyproject.toml"]
    files += [root / "requirements" / f"{name}.txt" for name in sorted(names)]
    digest = hashlib.sha256()
    for file in files:
        digest.update(hashlib.sha256(file.read_bytes()).digest())
    return digest.hexdigest()


def setuptools_requirements(bootstrap: str) -> str:
    """Return the bootstrap requirements that every platform can install."""
    kept_lines: list[str] = []
    is_kept = False
    for line in bootstrap.splitlines(keepends=True):
        if not line[0].isspace():
            is_kept = line.startswith("setuptools==")
        if is_kept:
            kept_lines.append(line)
    return "".join(kept_lines)


def _exec_server(arguments: Sequence[str]) -> None:
    command = ROOT / ".venv" / "bin" / "toolgauge"
    _flush()
    os.execv(command, ["toolgauge", "serve", *arguments])  # noqa: S606 - it replaces this process


def _exec_tests(arguments: Sequence[str]) -> None:
    python = ROOT / ".venv" / "bin" / "python"
    os.chdir(ROOT)
    _flush()
    os.execv(python, [str(python), "-m", "launcher.testing", *arguments])  # noqa: S606


@contextmanager
def _setup_lock(path: Path) -> Iterator[None]:
    try:
        lock = path.open("a")
    except OSError as exc:
        raise LaunchError(
            f"Cannot write to {path.parent}: {exc.strerror}. Use a folder of yours."
        ) from exc
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            _print_line("set-up: another ./run is setting up this folder; waiting for it")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _make_environment(root: Path) -> None:
    if _environment_is_ours(root):
        return
    if importlib.util.find_spec("ensurepip") is None or importlib.util.find_spec("venv") is None:
        version = f"{sys.version_info.major}.{sys.version_info.minor}"
        raise LaunchError(
            f"This Python ({sys.executable}) cannot make virtual environments. "
            f"On Debian and Ubuntu: apt install python{version}-venv. Then start ./run again."
        )
    venv = root / ".venv"
    shutil.rmtree(venv, ignore_errors=True)
    _run("virtual environment", [sys.executable, "-m", "venv", str(venv)], root)
    write_owner_mark(root)


def _environment_is_ours(root: Path) -> bool:
    """Scripts in an environment contain its path, so a moved one does not work."""
    mark = _environment_mark(root)
    return mark != "" and _read_if_exists(root / ".venv" / "made-for") == mark


def _environment_mark(root: Path) -> str:
    """Return folder and Python version of the environment; empty if it does not run."""
    python = root / ".venv" / "bin" / "python"
    code = "import sys; print(sys.prefix, *sys.version_info[:2])"
    try:
        result = subprocess.run(
            [python, "-I", "-c", code], capture_output=True, text=True, check=True
        )
    except (OSError, subprocess.CalledProcessError):
        return ""
    return f"{root}\n{result.stdout}"


def _install(root: Path, requirements: str) -> None:
    pip = [str(root / ".venv" / "bin" / "python"), "-m", "pip", "install", "--quiet"]
    uv = _bootstrap(root, pip)
    pinned = ["--require-hashes", "-r", f"requirements/{requirements}.txt"]
    project = ["--no-deps", "--no-build-isolation", "-e", "."]
    _install_with_fallback("requirements", uv, pip, pinned, root)
    _install_with_fallback("toolgauge", uv, pip, project, root)


def _bootstrap(root: Path, pip: list[str]) -> list[str] | None:
    """Install uv and setuptools; return the uv command, or None if uv is not available."""
    pinned = root / "requirements" / "bootstrap.txt"
    try:
        _run("installer", [*pip, "--require-hashes", "-r", str(pinned)], root)
    except LaunchError:
        _print_line("set-up: uv cannot be installed here; going on with pip, which is slower")
        requirements = root / ".venv" / "bootstrap-without-uv.txt"
        requirements.write_text(setuptools_requirements(pinned.read_text()))
        _run("setuptools", [*pip, "--require-hashes", "-r", str(requirements)], root)
        return None
    binaries = root / ".venv" / "bin"
    quiet = ["--quiet", "--compile-bytecode", "--python", str(binaries / "python")]
    return [str(binaries / "uv"), "pip", "install", *quiet]


def _install_with_fallback(
    step: str, uv: list[str] | None, pip: list[str], arguments: list[str], root: Path
) -> None:
    if uv is not None:
        try:
            _run(step, [*uv, *arguments], root)
        except LaunchError:
            _print_line(f"set-up: uv could not install {step}; trying pip, which is slower")
        else:
            return
    _run(step, [*pip, *arguments], root)


def _run(step: str, command: Sequence[str], root: Path) -> None:
    started = time.monotonic()
    # Without an index here, pip's and uv's own settings apply.
    environment = os.environ | {
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        "PIP_NO_INPUT": "1",
        "PIP_USER": "0",
        "UV_PYTHON_DOWNLOADS": "never",
    }
    try:
        result = subprocess.run(
            command,
            cwd=root,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            check=False,
        )
    except OSError as exc:
        raise LaunchError(_failure_message(step, str(exc))) from exc
    if result.returncode != 0:
        raise LaunchError(_failure_message(step, result.stdout))
    _print_line(f"set-up: {step:<22} {time.monotonic() - started:5.1f} s")


def _failure_message(step: str, output: str) -> str:
    last_lines = "\n".join(f"    {line}" for line in output.strip().splitlines()[-12:])
    return (
        f"Set-up stopped at: {step}\n{last_lines}\n"
        "If this is about the network, check that pip can reach its package index from this "
        "machine (pip's own settings and proxy variables apply). Then start ./run again."
    )


def _stamp_file(root: Path, requirements: str) -> Path:
    return root / ".venv" / f"stamp-{requirements}"


def _read_if_exists(path: Path) -> str | None:
    try:
        return path.read_text()
    except OSError:
        return None


def _print_line(line: str) -> None:
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()


def _flush() -> None:
    sys.stdout.flush()
    sys.stderr.flush()
