from __future__ import annotations

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from launcher.ports import http_status
from launcher.services import ROOT
from tests.launcher.processes import processes_of, wait_until

SERVER_VARIABLES = {
    "DATABASE_URL",
    "REDIS_URL",
    "SECRET_KEY",
    "CREDENTIAL_KEYS",
    "PUBLIC_URL",
    "DATA_DIR",
}


class Product:
    """`toolgauge serve` with all its services, on a data folder of its own."""

    def __init__(self, data: Path, screen: Path, *arguments: str, **env_overrides: str) -> None:
        self.screen = screen
        env = {name: value for name, value in os.environ.items() if name not in SERVER_VARIABLES}
        with screen.open("wb") as output:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "cli.main", "serve", "--data-dir", data, *arguments],
                cwd=ROOT,
                env=env | env_overrides,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def shows(self, pattern: str) -> re.Match[str] | None:
        return re.search(pattern, self.screen.read_text())

    def wait_for(self, pattern: str) -> re.Match[str]:
        assert wait_until(lambda: bool(self.shows(pattern) or self._ended()), 90), "took too long"
        match = self.shows(pattern)
        assert match, self.screen.read_text()
        return match

    def end(self, stop_signal: signal.Signals) -> int:
        self.process.send_signal(stop_signal)
        return self.process.wait(timeout=60)

    def kill(self) -> None:
        """Clean up after a test that failed before it ended the product."""
        if not self._ended():
            self.process.kill()
            self.process.wait()

    def _ended(self) -> bool:
        return self.process.poll() is not None


@pytest.fixture
def product(tmp_path: Path) -> Iterator[Product]:
    """The product on a new data folder, or on `used_folder` where a test asks for that."""
    product = Product(tmp_path / "data", tmp_path / "screen", "--port", "0", "--no-demo")
    yield product
    product.kill()


@dataclass(frozen=True, slots=True)
class FirstStart:
    """What a first start showed until Ctrl-C, and the data folder that it left."""

    data: Path
    ready: set[str]
    page_status: int | None
    second_start: int
    token: subprocess.CompletedProcess[str]
    audit_head: subprocess.CompletedProcess[str]
    exit_code: int
    left_over: list[str]


@pytest.fixture(scope="module")
def first_start(tmp_path_factory: pytest.TempPathFactory) -> FirstStart:
    """Made once: creating and migrating a database takes longer than the tests."""
    folder = tmp_path_factory.mktemp("first_start")
    product = Product(folder / "data", folder / "screen", "--port", "0", "--no-demo")
    try:
        port = int(product.wait_for(r"running at http://127\.0\.0\.1:(\d+)")[1])
        return FirstStart(
            data=folder / "data",
            ready=set(re.findall(r"^(\w+) +ready", product.screen.read_text(), re.MULTILINE)),
            page_status=http_status(port, "/readyz"),
            second_start=_second_start(folder, product, port),
            token=_run_beside(folder / "data", "manage.py", "api_token", "t", "--scope", "read"),
            audit_head=_run_beside(folder / "data", "-m", "cli.main", "audit", "head"),
            exit_code=product.end(signal.SIGINT),
            left_over=processes_of(folder),
        )
    finally:
        product.kill()


@pytest.fixture
def used_folder(first_start: FirstStart, tmp_path: Path) -> Path:
    """A data folder whose database is migrated."""
    return Path(shutil.copytree(first_start.data, tmp_path / "data", symlinks=True))


def _run_beside(data: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a command in another shell, which knows the data folder and no other setting."""
    env = {name: value for name, value in os.environ.items() if name not in SERVER_VARIABLES}
    command, env["DATA_DIR"] = [sys.executable, *arguments], str(data)
    return subprocess.run(
        command, cwd=ROOT, env=env, capture_output=True, text=True, check=False, timeout=90
    )


def _second_start(folder: Path, product: Product, port: int) -> int:
    second = Product(folder / "data", folder / "second-screen", "--port", "0")
    second.wait_for(rf"already running here \(pid {product.process.pid}, http://127.0.0.1:{port}\)")
    return second.process.wait(timeout=60)


def test_whole_product_starts_and_stops_on_ctrl_c(first_start: FirstStart) -> None:
    """All services start, the pages respond, and after Ctrl-C no process is left."""
    assert first_start.ready == {"postgres", "valkey", "vendors", "web", "worker", "beat"}
    assert first_start.page_status == 200
    assert first_start.second_start == 2
    assert first_start.exit_code == 0
    assert first_start.left_over == []


def test_commands_find_the_product_that_is_running(first_start: FirstStart) -> None:
    """Each prints what it promises, without a variable that names the servers."""
    token, head = first_start.token, first_start.audit_head
    assert (token.returncode, token.stderr) == (0, "")
    assert re.fullmatch(r"tg_[a-z0-9]{8}_\S{43}\n", token.stdout)
    assert (head.returncode, head.stderr) == (0, "")
    assert re.fullmatch(r"\d+:[0-9a-f]{64}\n", head.stdout)


@pytest.mark.parametrize(
    "arguments",
    [
        ("manage.py", "api_token", "t", "--scope", "read"),
        ("manage.py", "migrate", "--check"),
        ("-m", "cli.main", "audit", "head"),
    ],
    ids=["our command", "Django's command", "toolgauge"],
)
def test_a_command_where_nothing_runs_says_what_to_do(
    first_start: FirstStart, arguments: tuple[str, ...]
) -> None:
    """The data folder is there, its servers are not."""
    done = _run_beside(first_start.data, *arguments)

    assert done.returncode in {2, 3}
    assert "./run" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_command_without_any_settings_says_what_to_do(tmp_path: Path) -> None:
    """Before the first start, there is no key."""
    done = _run_beside(tmp_path, "manage.py", "api_token", "t", "--scope", "read")

    assert done.returncode == 2
    assert "SECRET_KEY" in done.stderr
    assert "./run" in done.stderr
    assert "Traceback" not in done.stderr


def test_an_interpreter_without_our_packages_finds_them() -> None:
    """`python manage.py` works in a checkout that ./run has set up."""
    bare = [sys.executable, "-S", "-E", "manage.py", "version"]

    done = subprocess.run(bare, cwd=ROOT, capture_output=True, text=True, check=False, timeout=90)

    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.usefixtures("used_folder")
def test_killed_supervisor_leaves_nothing_behind(product: Product, tmp_path: Path) -> None:
    """Even SIGKILL, which cannot be caught, ends all services with the supervisor."""
    product.wait_for("running at")
    assert len(processes_of(tmp_path)) > 6

    product.end(signal.SIGKILL)

    assert wait_until(lambda: processes_of(tmp_path) == [], 30), processes_of(tmp_path)


def test_stop_during_the_start_is_clean(product: Product, tmp_path: Path) -> None:
    """SIGTERM during the start stops the services that run, and counts as a requested stop."""
    product.wait_for("valkey +ready")

    assert product.end(signal.SIGTERM) == 0
    assert processes_of(tmp_path) == []


def test_killed_start_leaves_nobody_who_plays_history(used_folder: Path, tmp_path: Path) -> None:
    """The processes that generate history end with the start, even if it was killed."""
    product = Product(used_folder, tmp_path / "screen", "--port", "0")
    product.wait_for(r"Playing \d+ days of history")

    product.end(signal.SIGKILL)

    assert wait_until(lambda: processes_of(tmp_path) == [], 30), processes_of(tmp_path)
    assert not product.shows("Registered the simulated fleet")


def test_taken_port_is_told_before_anything_starts(tmp_path: Path) -> None:
    """The message names the port and the option, and no server was started."""
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        product = Product(tmp_path / "data", tmp_path / "screen", "--port", str(port))

        assert product.process.wait(timeout=60) == 2

    assert product.shows(rf"Port {port} is taken .* --port")
    assert not product.shows("postgres")


@pytest.mark.parametrize(
    ("variable", "url", "sentence"),
    [
        ("DATABASE_URL", "postgresql://nobody:pw-4711@127.0.0.1:1/none", "Postgres .*refused"),
        ("REDIS_URL", "redis://:pw-4711@127.0.0.1:1/0", "Redis .*refused"),
    ],
)
def test_server_that_is_not_there_ends_the_start_with_a_sentence(
    tmp_path: Path, variable: str, url: str, sentence: str
) -> None:
    """It names the variable and what to do, without the password; nothing was started."""
    given = {variable: url}
    product = Product(tmp_path / "data", tmp_path / "screen", "--port", "0", **given)

    assert product.process.wait(timeout=60) == 2
    assert product.shows(sentence)
    assert product.shows(variable)
    assert not product.shows("pw-4711|Traceback|ready|running at")
    assert processes_of(tmp_path) == []


def test_wrong_port_is_wrong_usage(tmp_path: Path) -> None:
    """An invalid port ends with exit code 2 and a message with the valid range."""
    product = Product(tmp_path / "data", tmp_path / "screen", "--port", "http")

    assert product.process.wait(timeout=60) == 2
    assert product.shows("give a number from 0 to 65535")
