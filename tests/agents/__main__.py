"""Real agents through the gateway: `python -m tests.agents --modules FOLDER [--agent NAME] …`.

Runs in a network namespace that has nothing but loopback: this program starts itself again in
one. Vendors, gateway and agents all run there.
"""

from __future__ import annotations

import argparse
import base64
import json
import os
import secrets
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import django

from tests.agents.clients import AGENTS

if TYPE_CHECKING:
    from tests.agents.agent_runs import AgentRun

INSIDE = "AGENTS_NAMESPACE"


def main() -> int:
    options = _parse_options()
    if INSIDE not in os.environ:
        return _run_in_namespace()
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    _set_up()
    from tests.agents.agent_runs import run_agents

    agents = [agent for agent in AGENTS if not options.agent or agent.name in options.agent]
    with tempfile.TemporaryDirectory() as folder:
        runs = list(run_agents(agents, options.vendor, options.modules, Path(folder)))
    sys.stdout.write(_table(runs))
    if options.json:
        options.json.write_text(json.dumps([run.as_json() for run in runs], indent=1))
    return int(any(not run.is_complete for run in runs))


def _run_in_namespace() -> int:
    command = ["unshare", "-n", sys.executable, "-m", "tests.agents", *sys.argv[1:]]
    return subprocess.run(command, env={**os.environ, INSIDE: "1"}, check=False).returncode


def _set_up() -> None:
    """Settings for a gateway without a database."""
    os.environ |= {
        "DJANGO_SETTINGS_MODULE": "config.settings",
        "SECRET_KEY": secrets.token_hex(32),
        "CREDENTIAL_KEYS": base64.b64encode(secrets.token_bytes(32)).decode(),
    }
    django.setup()


def _parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.agents", description=__doc__)
    parser.add_argument("--modules", type=Path, required=True, help="the node_modules folder")
    parser.add_argument("--agent", action="append", help="only this one; may be repeated")
    parser.add_argument("--vendor", action="append", help="may be repeated")
    parser.add_argument("--json", type=Path, help="write what was seen to this file")
    return parser.parse_args()


def _table(runs: list[AgentRun]) -> str:
    lines = [
        "| agent | endpoint | outcome | requests | calls | seconds |",
        "|---|---|---|---|---|---|",
    ]
    lines += [
        f"| {run.agent} | {run.vendor} | {run.outcome} | {run.requests} | {run.calls} | "
        f"{run.seconds:.0f} |"
        for run in runs
    ]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.exit(main())
