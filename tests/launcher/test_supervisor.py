from __future__ import annotations

import os
import signal
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from launcher.disk_watch import DiskWatch
from launcher.errors import LaunchError
from launcher.process import MAX_LOG_BYTES, Command, bound_log
from launcher.service import Service, alive_for
from launcher.supervisor import StopRequest, StopRequested, Supervisor
from tests.launcher.processes import processes_of, wait_until

SLEEP = "import time; time.sleep(600)"
STUBBORN = f"import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); {SLEEP}"
PARENT = f"import subprocess, sys; subprocess.Popen([sys.executable, '-c', '{SLEEP}']); {SLEEP}"


def make_service(name: str, folder: Path, code: str = SLEEP, stop_seconds: float = 10.0) -> Service:
    command = Command(
        argv=(sys.executable, "-c", code),
        env={"FOLDER": str(folder)},
        cwd=folder,
        log=folder / f"{name}.log",
        stop_seconds=stop_seconds,
    )
    return Service(name, command, is_ready=alive_for(0.1))


def tick_until_restarted(supervisor: Supervisor, pid: int) -> bool:
    def restarted() -> bool:
        supervisor.tick()
        return supervisor.supervised[0].is_ready and supervisor.supervised[0].pid != pid

    return wait_until(restarted)


def test_part_that_dies_comes_back(
    supervisor: Supervisor, lines: list[str], tmp_path: Path
) -> None:
    """A killed service is restarted, and every step is printed."""
    supervisor.bring_up([make_service("web", tmp_path)])
    pid = supervisor.supervised[0].pid
    assert pid is not None

    os.kill(pid, signal.SIGKILL)

    assert tick_until_restarted(supervisor, pid)
    assert [line.split()[:2] for line in lines] == [
        ["web", "ready"],
        ["web", "died"],
        ["web", "restarts"],
        ["web", "ready"],
    ]


def test_pauses_between_restarts_grow(
    supervisor: Supervisor, lines: list[str], tmp_path: Path
) -> None:
    """A service that keeps dying is restarted less and less often."""
    supervisor.bring_up([make_service("web", tmp_path)])

    for _ in range(2):
        pid = supervisor.supervised[0].pid
        assert pid is not None
        os.kill(pid, signal.SIGKILL)
        assert tick_until_restarted(supervisor, pid)

    assert [line.split()[-2] for line in lines if "restarts" in line] == ["0.5", "1"]


def test_parts_stop_in_reverse_order(
    supervisor: Supervisor, lines: list[str], tmp_path: Path
) -> None:
    """The service that started last is stopped first, and no process is left."""
    supervisor.bring_up([make_service(name, tmp_path) for name in ("postgres", "web", "beat")])

    supervisor.stop_all()

    stopped = [line.split()[0] for line in lines if "stopped" in line]
    assert stopped == ["beat", "web", "postgres"]
    assert processes_of(tmp_path) == []


def test_part_that_will_not_stop_is_killed(supervisor: Supervisor, tmp_path: Path) -> None:
    """A service that ignores the stop signal is killed after its timeout."""
    supervisor.bring_up([make_service("web", tmp_path, STUBBORN, stop_seconds=0.2)])

    supervisor.stop_all()

    assert processes_of(tmp_path) == []


def test_second_request_does_not_wait(lines: list[str], tmp_path: Path) -> None:
    """After two stop signals, even a service with a long timeout is killed at once."""
    stop = StopRequest()
    supervisor = Supervisor(lines.append, stop)
    supervisor.bring_up([make_service("web", tmp_path, STUBBORN, stop_seconds=7200)])

    stop.count = 2
    supervisor.stop_all()

    assert processes_of(tmp_path) == []


def test_children_of_a_part_go_with_it(supervisor: Supervisor, tmp_path: Path) -> None:
    """The children of a killed service end with it."""
    supervisor.bring_up([make_service("worker", tmp_path, PARENT)])
    assert wait_until(lambda: len(processes_of(tmp_path)) == 2)

    supervisor.stop_all()

    # Only the service itself is waited for; its children may end a moment later.
    assert wait_until(lambda: processes_of(tmp_path) == [])


def test_part_that_never_gets_ready_ends_the_start(supervisor: Supervisor, tmp_path: Path) -> None:
    """After three tries the start fails, and the message shows the end of the log."""
    service = make_service("web", tmp_path, "raise SystemExit('no such table: endpoint')")
    # Never ready by itself: on a busy machine it may outlive the usual limit.
    broken = replace(service, is_ready=lambda _process: False)

    with pytest.raises(LaunchError, match=r"(?s)web did not start after 3 tries.*no such table"):
        supervisor.bring_up([broken])


def test_failed_preparation_ends_the_start(supervisor: Supervisor, tmp_path: Path) -> None:
    """A preparation that fails is not repeated, and its name is in the message."""
    command = make_service("migrate", tmp_path, "raise SystemExit(3)").command

    with pytest.raises(LaunchError, match=r"migrate failed \(exit code 3\)"):
        supervisor.run_once("migrate", command)


def test_request_to_stop_is_heard_during_the_start(lines: list[str], tmp_path: Path) -> None:
    """Ctrl-C while a service is starting does not wait for it."""
    stop = StopRequest()
    supervisor = Supervisor(lines.append, stop)
    stop.count = 1

    with pytest.raises(StopRequested):
        supervisor.bring_up([make_service("web", tmp_path)])

    supervisor.stop_all()
    assert processes_of(tmp_path) == []


def test_long_log_is_bounded_while_its_service_writes(
    tmp_path: Path, supervisor: Supervisor
) -> None:
    """Its end is put aside and its writer continues in the emptied file; a short one stays."""
    log, older, short = (tmp_path / name for name in ("web.log", "web.log.1", "beat.log"))
    short.write_text("line\n")
    say = "print('a line of a service that says too much ' * 30_000, flush=True)"
    code = f"import time\nwhile True: {say}; time.sleep(0.01)"
    supervisor.start([make_service("web", tmp_path, code)])

    def is_put_aside() -> bool:
        supervisor.tick()
        bound_log(short)
        return older.exists() and 0 < log.stat().st_size < MAX_LOG_BYTES

    assert wait_until(is_put_aside, 60)
    supervisor.stop_all()
    assert older.stat().st_size == MAX_LOG_BYTES
    assert "says too much" in log.read_text()
    assert short.read_text() == "line\n"


def test_full_disk_is_announced_once(tmp_path: Path, lines: list[str]) -> None:
    """Logs cannot be written then, so the terminal says it."""
    for min_free in (2**80, 0):
        watch = DiskWatch(tmp_path, lines.append, min_free=min_free)
        watch.tick()
        watch.tick()

    assert len(lines) == 1
    assert "full" in lines[0]
    assert str(tmp_path) in lines[0]
