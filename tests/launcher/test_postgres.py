from __future__ import annotations

import os
import shutil
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from launcher import postgres
from launcher.binaries import postgres_folder
from launcher.datafolder import DataFolder, open_data_folder
from launcher.errors import LaunchError
from launcher.postgres import Cluster
from launcher.privileges import nobody_identity, unprivileged_identity
from launcher.supervisor import StopRequest, Supervisor
from tests.launcher.processes import processes_of, wait_until


@pytest.fixture
def cluster(home: DataFolder) -> Cluster:
    return postgres.open_cluster(home, durable=False)


def start(supervisor: Supervisor, cluster: Cluster) -> int:
    supervisor.bring_up(
        [postgres.postgres_service(cluster, cluster.folder.parent / "log" / "postgres.log")]
    )
    pid = supervisor.supervised[-1].pid
    assert pid is not None
    return pid


def write_row(cluster: Cluster) -> None:
    with psycopg.connect(cluster.url("postgres")) as connection:
        connection.execute("CREATE TABLE kept AS SELECT 'Grüße' AS word")


def read_rows(cluster: Cluster) -> object:
    with psycopg.connect(cluster.url("postgres")) as connection:
        row = connection.execute("SELECT word FROM kept").fetchone()
    return row and row[0]


def test_data_survives_a_restart(
    home: DataFolder, cluster: Cluster, supervisor: Supervisor
) -> None:
    """Data from before a stop is there after the next start."""
    start(supervisor, cluster)
    write_row(cluster)
    supervisor.stop_all()

    again = postgres.open_cluster(home, durable=False)
    start(supervisor, again)

    assert read_rows(again) == "Grüße"


def test_stop_leaves_no_process(cluster: Cluster, supervisor: Supervisor) -> None:
    """After a stop no process of the server is left, and its data is closed properly."""
    start(supervisor, cluster)
    assert processes_of(cluster.data)

    supervisor.stop_all()

    assert processes_of(cluster.data) == []
    assert not (cluster.data / "postmaster.pid").exists()


def test_database_is_created_once(cluster: Cluster, supervisor: Supervisor) -> None:
    """The product's database is created if it is missing and left alone if it exists."""
    start(supervisor, cluster)

    postgres.ensure_database(cluster)
    postgres.ensure_database(cluster)

    with psycopg.connect(cluster.url()) as connection:
        row = connection.execute("SELECT current_database(), current_setting('TimeZone')")
        assert row.fetchone() == ("toolgauge", "UTC")


def test_wrong_password_is_refused(cluster: Cluster, supervisor: Supervisor) -> None:
    """Other users of the machine cannot connect through the open port."""
    start(supervisor, cluster)

    url = cluster.url().replace(cluster.password, "guess")
    with pytest.raises(psycopg.OperationalError, match="password authentication failed"):
        psycopg.connect(url)


def test_pid_file_of_a_killed_server_is_no_obstacle(
    home: DataFolder, cluster: Cluster, supervisor: Supervisor
) -> None:
    """A pid file left by a crash does not block a start, even if the pid is now another's."""
    note = cluster.data / "postmaster.pid"
    note.write_text(f"{os.getpid()}\n{cluster.data}\n")
    os.chown(note, cluster.data.stat().st_uid, -1)

    start(supervisor, postgres.open_cluster(home, durable=False))

    assert note.read_text().splitlines()[0] != str(os.getpid())


def test_server_that_was_left_running_is_stopped_first(
    home: DataFolder, cluster: Cluster, supervisor: Supervisor
) -> None:
    """A server that outlived its supervisor is ended before another one is started."""
    earlier = Supervisor(lambda _line: None, StopRequest())
    left_over = start(earlier, cluster)

    now = start(supervisor, postgres.open_cluster(home, durable=False))

    assert now != left_over
    assert str(now) in (cluster.data / "postmaster.pid").read_text()
    earlier.stop_all()


def test_killed_server_comes_back_with_its_data(home: DataFolder, supervisor: Supervisor) -> None:
    """SIGKILL to the server is a crash that the supervisor and Postgres recover from."""
    cluster = postgres.open_cluster(home)
    pid = start(supervisor, cluster)
    write_row(cluster)

    os.kill(pid, signal.SIGKILL)
    assert wait_until(lambda: _tick_until_another(supervisor, pid))

    assert read_rows(cluster) == "Grüße"


def _tick_until_another(supervisor: Supervisor, pid: int) -> bool:
    supervisor.tick()
    supervised = supervisor.supervised[0]
    return supervised.is_ready and supervised.pid != pid


def test_data_of_another_major_version_is_refused(home: DataFolder, cluster: Cluster) -> None:
    """The message names both versions, and the data is not touched."""
    (cluster.data / "PG_VERSION").write_text("12\n")

    with pytest.raises(LaunchError, match=r"written by Postgres 12, and this is Postgres \d+"):
        postgres.open_cluster(home)


def test_interrupted_making_is_repeated(home: DataFolder, supervisor: Supervisor) -> None:
    """A partially initialised cluster is deleted and initialised again."""
    draft = home.path / "postgres" / "half-made"
    draft.mkdir(parents=True)
    (draft / "PG_VERSION").write_text("18\n")

    start(supervisor, postgres.open_cluster(home, durable=False))

    assert not draft.exists()


@pytest.fixture
def open_home() -> Iterator[DataFolder]:
    """A data folder whose parents every user may enter; pytest's own are closed."""
    folder = Path(tempfile.mkdtemp(prefix="toolgauge-nobody-"))
    folder.chmod(0o755)
    yield open_data_folder(folder / "data")
    shutil.rmtree(folder)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become nobody")
def test_root_can_run_it_as_nobody(open_home: DataFolder, supervisor: Supervisor) -> None:
    """Without user namespaces, the server runs as `nobody`; only root can read the keys."""
    identity = nobody_identity(postgres_folder(), open_home.path / "postgres")
    if identity is None:
        pytest.skip("the project lies in a folder that nobody may not enter")
    cluster = postgres.open_cluster(open_home, durable=False, identity=identity)

    pid = start(supervisor, cluster)

    assert Path(f"/proc/{pid}").stat().st_uid == identity.uid
    assert (open_home.path / "postgres-password").stat().st_mode & 0o777 == 0o600


@pytest.mark.skipif(os.geteuid() != 0, reason="a normal user needs no other identity")
def test_nobody_is_not_chosen_where_it_cannot_go(tmp_path: Path) -> None:
    """A folder that only its owner may enter rules `nobody` out, and is left as it was."""
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o700)
    data = closed / "data" / "postgres"
    data.mkdir(parents=True)

    assert nobody_identity(postgres_folder(), data) is None
    assert closed.stat().st_mode & 0o777 == 0o700


@pytest.mark.skipif(os.geteuid() == 0, reason="about normal users")
def test_normal_user_runs_it_plainly(tmp_path: Path) -> None:
    """Nothing is wrapped around the server of a normal user."""
    identity = unprivileged_identity(postgres_folder(), tmp_path)

    assert (identity.prefix, identity.uid) == ((), None)
