from __future__ import annotations

import os

import pytest
import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from launcher import valkey
from launcher.datafolder import DataFolder
from launcher.supervisor import StopRequest, Supervisor
from launcher.valkey import Store
from tests.launcher.processes import processes_of


def start(supervisor: Supervisor, store: Store) -> int:
    supervisor.bring_up([valkey.valkey_service(store, store.folder.parent / "log" / "valkey.log")])
    pid = supervisor.supervised[-1].pid
    assert pid is not None
    return pid


def test_data_survives_a_restart(home: DataFolder, supervisor: Supervisor) -> None:
    """Queued messages survive a restart."""
    store = valkey.open_store(home)
    start(supervisor, store)
    with redis.Redis.from_url(store.url()) as client:
        client.rpush("queue", "message")
    supervisor.stop_all()

    again = valkey.open_store(home)
    start(supervisor, again)

    with redis.Redis.from_url(again.url()) as client:
        assert client.lrange("queue", 0, -1) == [b"message"]


def test_password_is_needed_and_in_no_command_line(
    home: DataFolder, supervisor: Supervisor
) -> None:
    """Other users of the machine can neither connect nor read the password."""
    store = valkey.open_store(home)
    start(supervisor, store)

    stranger = redis.Redis(port=store.port, retry=Retry(NoBackoff(), 0))
    with stranger, pytest.raises(redis.AuthenticationError):
        stranger.ping()
    assert store.password not in " ".join(processes_of(store.folder))
    assert store.config.stat().st_mode & 0o777 == 0o600


def test_messages_are_never_evicted(home: DataFolder, supervisor: Supervisor) -> None:
    """When memory is full, writes fail instead of evicting messages."""
    store = valkey.open_store(home)
    start(supervisor, store)

    with redis.Redis.from_url(store.url(), decode_responses=True) as client:
        assert client.config_get("maxmemory-policy") == {"maxmemory-policy": "noeviction"}


def test_stop_leaves_no_process(home: DataFolder, supervisor: Supervisor) -> None:
    """After a stop no process of the server is left."""
    store = valkey.open_store(home)
    start(supervisor, store)

    supervisor.stop_all()

    assert processes_of(store.folder) == []


def test_server_that_was_left_running_is_stopped_first(
    home: DataFolder, supervisor: Supervisor
) -> None:
    """A server that outlived its supervisor is ended before another one is started."""
    earlier = Supervisor(lambda _line: None, StopRequest())
    left_over = start(earlier, valkey.open_store(home))

    now = start(supervisor, valkey.open_store(home))

    assert now != left_over
    assert len(processes_of(home.path / "valkey")) == 1
    earlier.stop_all()


def test_pid_file_that_names_another_process_is_ignored(
    home: DataFolder, supervisor: Supervisor
) -> None:
    """A process that got the old pid meanwhile is not killed."""
    store = valkey.open_store(home)
    store.pid_file.write_text(f"{os.getpid()}\n")

    start(supervisor, store)

    assert store.pid_file.read_text().strip() != str(os.getpid())
