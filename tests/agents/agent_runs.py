"""Runs agents against a gateway over simulated vendors, and says what came of each."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from tests.agents.clients import Agent, Setup
from tests.gateway.running_gateway import (
    TOKEN,
    RunningGateway,
    live_endpoint,
    read_truth,
    run_gateway,
)
from tests.simulators.plugin import serve_vendors

VENDORS = ("anthropic", "openai", "responses", "gemini", "deepseek", "kimi", "ollama", "vllm")
PATIENCE_S = 180


@dataclass
class AgentRun:
    """One agent over one vendor. Complete: the tool was called, and the answer after it came."""

    agent: str
    vendor: str
    requests: int = 0
    calls: int = 0
    statuses: list[int] = field(default_factory=list)
    seconds: float = 0.0
    exit_code: int | None = None
    output: str = ""

    @property
    def is_complete(self) -> bool:
        return self.exit_code == 0 and self.calls >= 1 and self.requests > 1

    @property
    def outcome(self) -> str:
        if self.is_complete:
            return "completes"
        return "no end" if self.exit_code is None else f"fails (exit {self.exit_code})"

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


def run_agents(
    agents: Sequence[Agent], vendors: Sequence[str] | None, modules: Path, folder: Path
) -> Iterator[AgentRun]:
    with serve_vendors() as (url, _):
        endpoints = [
            live_endpoint(read_truth(url, vendor), url, slug=vendor)
            for vendor in vendors or VENDORS
        ]
        with run_gateway(folder / "spool", *endpoints) as gateway:
            for agent in agents:
                for endpoint in endpoints:
                    home = folder / f"{agent.name}-{endpoint.slug}".replace(" ", "-")
                    yield run_agent(agent, gateway, endpoint.slug, home, modules)


def run_agent(
    agent: Agent, gateway: RunningGateway, vendor: str, home: Path, modules: Path
) -> AgentRun:
    """Run one agent in an empty home and project."""
    setup = Setup(gateway.base_url(vendor), TOKEN, home, modules)
    project = home / "project"
    project.mkdir(parents=True)
    (project / "notes.txt").write_text("A file to list.\n")
    for name, text in agent.files(setup).items():
        path = home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    run = AgentRun(agent.name, vendor)
    before, began = len(gateway.events()), time.monotonic()
    try:
        done = subprocess.run(
            agent.command(setup, agent.prompt),
            cwd=project,
            env=_environment(agent, setup),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=False,
        )
        run.exit_code = done.returncode
        run.output = (done.stdout + done.stderr)[-4000:]
    except subprocess.TimeoutExpired as exc:
        run.output = f"{exc.stdout!r} {exc.stderr!r}"[-4000:]
    run.seconds = time.monotonic() - began
    events = gateway.events()[before:]
    run.requests, run.calls = len(events), sum(event["calls"] for event in events)
    run.statuses = [event["status"] for event in events]
    return run


def _environment(agent: Agent, setup: Setup) -> dict[str, str]:
    """Nothing of ours but the path: no proxy, no key, no settings."""
    node = str(Path(setup.node).parent)
    return {
        "PATH": f"{node}:{os.environ['PATH']}",
        "HOME": str(setup.home),
        "XDG_CONFIG_HOME": str(setup.home / ".config"),
        "XDG_DATA_HOME": str(setup.home / ".data"),
        "TERM": "dumb",
        "CI": "1",
        **agent.environment(setup),
    }
