"""Third-party clients, in a process that reaches only what the rules allow."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.security.recording_server import RecordingServer

ROOT = Path(__file__).resolve().parents[2]

CONFINED = """
import socket, sys, threading
from probes.sandbox import confine_process
from probes.egress_rules import EgressRules, parse_grants
import requests
real = socket.getaddrinfo
rounds = iter(sys.argv[3].split(","))
def resolve(host, port, *args, **kwargs):
    return real(next(rounds) if host.endswith(".test") else host, port, *args, **kwargs)
socket.getaddrinfo = resolve
refused = confine_process(EgressRules(parse_grants(sys.argv[1])))
url = sys.argv[2]
{act}
print("ended well", refused)
"""


def run_confined(code: str, *, grants: str = "127.0.0.1", url: str = "", names: str = "") -> str:
    """Run the code in a confined process; returns its output."""
    result = subprocess.run(
        [sys.executable, "-c", CONFINED.format(act=code), grants, url, names],
        cwd=ROOT,
        check=False,
        capture_output=True,
        text=True,
        timeout=60,
    )
    return result.stdout + result.stderr


def test_other_peoples_clients_reach_what_is_granted(first_server: RecordingServer) -> None:
    """The confinement allows what the rules allow."""
    url = f"http://127.0.0.1:{first_server.server_port}/"

    assert "ended well []" in run_confined("requests.get(url)", url=url)
    assert first_server.hosts


def test_other_peoples_clients_cannot_follow_a_redirect_elsewhere(
    first_server: RecordingServer, second_server: RecordingServer
) -> None:
    """A redirect connects again, and is checked again."""
    first_server.redirect = f"http://127.0.0.2:{second_server.server_port}/"

    printed = run_confined("requests.get(url)", url=f"http://127.0.0.1:{first_server.server_port}/")

    assert "EGRESS_GRANTS" in printed
    assert "ended well" not in printed
    assert (len(first_server.hosts), second_server.hosts) == (1, [])


def test_other_peoples_clients_cannot_be_misled_by_a_name_that_flips(
    first_server: RecordingServer, second_server: RecordingServer
) -> None:
    """The address is checked when connecting; an earlier lookup does not count."""
    act = "socket.getaddrinfo('flips.test', 80); requests.get(url)"

    printed = run_confined(
        act, url=f"http://flips.test:{second_server.server_port}/", names="127.0.0.1,127.0.0.2"
    )

    assert "127.0.0.2" in printed
    assert "EGRESS_GRANTS" in printed
    assert second_server.hosts == []


# Each in a line of its own, all in one process.
HOSTILE = [
    "requests.get('http://127.0.0.2:1/')",
    "socket.create_connection(('10.0.0.1', 80))",
    "socket.create_connection(('169.254.169.254', 80))",
    "socket.socket().connect(('localhost', 80))",
    "socket.socket(socket.AF_UNIX).connect('/tmp/x')",
    "socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('127.0.0.2', 514))",
    "__import__('smtplib').SMTP('127.0.0.2', 25)",
    "__import__('subprocess').run(['true'])",
    "__import__('os').system('true')",
    "open('/etc/passwd')",
    "open('/tmp/written', 'w')",
    "b'x' * 10**10",
]
TRY_EACH = """
for act in %r:
    before = len(refused)
    try: eval(act)
    except (MemoryError, PermissionError): print("refused", act)
    except OSError: print("refused" if len(refused) > before else "tried", act)
    else: print("done", act)
"""


def test_a_confined_process_is_refused_all_this() -> None:
    """No other address, no socket of the system, no program, no file, no endless memory."""
    printed = run_confined(TRY_EACH % HOSTILE).splitlines()

    assert printed[:-1] == [f"refused {act}" for act in HOSTILE]


def test_threads_of_a_confined_process_are_confined() -> None:
    """Threads of a library are confined too."""
    act = """
def reach():
    try: socket.create_connection(("127.0.0.2", 1))
    except PermissionError: print("thread refused")
thread = threading.Thread(target=reach); thread.start(); thread.join()
"""

    assert "thread refused\nended well" in run_confined(act)
