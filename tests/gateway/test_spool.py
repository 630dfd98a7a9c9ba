from __future__ import annotations

import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from gateway import spool as spools
from gateway.spool import Spool


def read(spool: Spool) -> list[int]:
    return [event["n"] for batch in spool.closed_batches() for event in batch.events]


def test_a_file_is_shipped_only_when_it_is_closed(tmp_path: Path) -> None:
    spool = Spool(tmp_path)
    spool.add({"n": 1})
    assert read(Spool(tmp_path)) == []

    spool.rotate()
    assert read(Spool(tmp_path)) == [1]


def test_a_batch_keeps_its_id_until_it_is_discarded(tmp_path: Path) -> None:
    """Shipping it again is recognised by the id."""
    spool = Spool(tmp_path)
    spool.add({"n": 1})
    spool.rotate()
    (first,), (again,) = list(spool.closed_batches()), list(spool.closed_batches())
    assert first.id == again.id

    first.discard()
    assert list(spool.closed_batches()) == []


def test_a_killed_process_loses_nothing_that_it_added(tmp_path: Path) -> None:
    """Its file is unlocked by its death, and another process ships it."""
    code = (
        "import os, sys; from pathlib import Path; from gateway.spool import Spool\n"
        "spool = Spool(Path(sys.argv[1]))\n"
        "[spool.add({'n': n}) for n in range(5)]\n"
        "os.kill(os.getpid(), 9)"
    )
    subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=False)

    assert read(Spool(tmp_path)) == [0, 1, 2, 3, 4]


def test_a_cut_line_is_no_exchange(tmp_path: Path) -> None:
    spool = Spool(tmp_path)
    spool.add({"n": 1})
    spool.rotate()
    (path,) = tmp_path.glob(f"*{spools.SUFFIX}")
    path.write_bytes(path.read_bytes() + b'{"n": 2')

    assert read(spool) == [1]


def test_a_full_spool_counts_what_it_drops(tmp_path: Path) -> None:
    spool = Spool(tmp_path, max_bytes=4)
    spool.add({"n": 1})
    spool.rotate()
    spool.add({"n": 2})

    assert (read(spool), spool.dropped) == ([1], 1)


@pytest.mark.skipif(not hasattr(resource, "RLIMIT_FSIZE"), reason="needs a limit of file sizes")
def test_a_disk_that_takes_no_more_never_stops_an_answer(tmp_path: Path) -> None:
    """Written by another process, whose files may not grow: every event is kept or counted."""
    code = (
        "import resource, signal, sys; from pathlib import Path; from gateway.spool import Spool\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))\n"
        "spool = Spool(Path(sys.argv[1]))\n"
        "[spool.add({'n': n, 'pad': 'x' * 30}) for n in range(20)]\n"
        "spool.rotate(); print(spool.dropped)"
    )
    command = [sys.executable, "-c", code, str(tmp_path)]
    run = subprocess.run(command, check=True, capture_output=True, text=True)

    kept = read(Spool(tmp_path))
    assert len(kept) + int(run.stdout) == 20
    assert len(set(kept)) == len(kept)
    assert int(run.stdout) > 0
    assert os.listdir(tmp_path)
