"""Evidence as a zip that can be attached to a bug report. The same rows give the same bytes.

What is in it was redacted before it was stored; no credential is read to make it.
"""

from __future__ import annotations

import base64
import io
import json
import re
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from typing_extensions import override

from dashboard.models import Attempt, Run
from dashboard.runs import evidence
from dashboard.runs.exchange import curl
from dashboard.runs.exchange.stored_evidence import Exchange, Got, exchanges
from probes.http_messages import Chunk
from probes.target import Provider

# Of all files of a run together; what is beyond is named in LEFT_OUT.txt.
MOST_BYTES = 64 * 1024 * 1024
_EPOCH = (1980, 1, 1, 0, 0, 0)
_RUN = (
    *("id", "trigger", "suite", "suite_version", "seed", "state", "reason", "passed", "failed"),
    *("void", "requests", "input_tokens", "output_tokens", "simulated", "key_epoch"),
)
_ATTEMPT = (
    *("probe", "trial", "outcome", "findings", "verdicts", "facts", "fingerprint", "http_status"),
    *("latency_ms", "first_byte_ms", "input_tokens", "output_tokens", "requests"),
)
_README = """\
Toolgauge evidence

run.json                    the run: endpoint, model, suite, seed
<probe>-<trial>/
  attempt.json              outcome, verdicts, figures
  findings.json             what was wrong: kind, message, path
  <step>/
    request.json            method, URL, headers and body as they were sent
    reply.txt               the body of the reply, byte for byte
    chunks.jsonl            the same in the pieces it arrived in, with milliseconds
    reply.json              status, headers, times
    calls.json              the tool calls that were read in it
    curl.sh                 the request as a command; set API_KEY first

What is left out
- The API key. It was never stored: of the request's headers only accept, accept-encoding,
  content-type and user-agent are kept, and wherever the endpoint sent the key back, in any
  spelling, [redacted] stands instead.
- Of the reply's headers all but a short list (dates, lengths, server, request ids).
- What was beyond 256 KiB of a body or 4096 chunks when it was stored; "truncated" says so.

Names, arguments and replies come from a model. Do not run or open them as anything but text.
"""


def of_attempt(run: Run, attempt: Attempt) -> bytes:
    """One attempt as a whole zip."""
    return b"".join(_zipped(_files(run, [attempt])))


def of_run(run: Run) -> Iterator[bytes]:
    """All attempts of a run, in pieces as they are made; each evidence is in memory only once."""
    found = Attempt.objects.of(run).order_by("probe", "trial")
    return _zipped(_files(run, found.iterator(chunk_size=50)))


def file_name(run: Run, attempt: Attempt | None = None) -> str:
    """A name that says whose evidence it is, of harmless characters only."""
    what = f"-{attempt.probe}-{attempt.trial}" if attempt else ""
    return re.sub(r"[^A-Za-z0-9._-]", "_", f"{run.endpoint.slug}-run-{run.pk}{what}")[:120]


def _files(run: Run, attempts: Iterable[Attempt]) -> Iterator[tuple[str, bytes]]:
    yield "README.txt", _README.encode()
    yield "run.json", _json(_run(run))
    room = MOST_BYTES
    left_out: list[str] = []
    has_key = hasattr(run.endpoint, "credential")
    for attempt in attempts:
        name = re.sub(r"[^A-Za-z0-9._-]", "_", f"{attempt.probe}-{attempt.trial}")[:80]
        files = list(_attempt(run, attempt, has_key)) if room > 0 else []
        room -= sum(len(data) for _, data in files)
        if room <= 0:
            left_out.append(f"{attempt.probe} {attempt.trial}")
            continue
        yield from ((f"{name}/{path}", data) for path, data in files)
    if left_out:
        yield "LEFT_OUT.txt", "\n".join(["Too large for one bundle:", *left_out, ""]).encode()


def _attempt(run: Run, attempt: Attempt, has_key: bool) -> Iterator[tuple[str, bytes]]:
    facts = {name: getattr(attempt, name) for name in _ATTEMPT}
    stored = evidence.read(attempt)
    facts["started_at"] = attempt.started_at.isoformat()
    facts["has_evidence"] = stored is not None
    yield "attempt.json", _json(facts)
    yield "findings.json", _json(attempt.findings)
    for exchange in exchanges(stored or {}):
        for path, data in _exchange(exchange, run.provider or run.profile.provider, has_key):
            yield f"{exchange.number}/{path}", data


def _exchange(exchange: Exchange, provider: str, has_key: bool) -> Iterator[tuple[str, bytes]]:
    told: dict[str, Any] = {"label": exchange.label, "error": exchange.error or None}
    if sent := exchange.sent:
        request = {"method": sent.method, "url": sent.url, "headers": dict(sent.headers)}
        told |= request | {"body": sent.body, "truncated": sent.truncated}
        command = curl.command(sent, Provider(provider), has_key=has_key)
        yield "curl.sh", f"#!/bin/sh\n{command}".encode("utf-8", "backslashreplace")
    yield "request.json", _json(told)
    if exchange.got is not None:
        yield from _reply(exchange.got)
    yield "calls.json", _json(exchange.calls)


def _reply(got: Got) -> Iterator[tuple[str, bytes]]:
    yield "reply.txt", got.body
    yield "chunks.jsonl", "".join(json.dumps(_chunk(c)) + "\n" for c in got.chunks).encode()
    facts = {"status": got.status, "http_version": got.http_version, "headers": dict(got.headers)}
    times = {"first_byte_ms": got.first_byte_ms, "total_ms": got.total_ms}
    yield "reply.json", _json({**facts, **times, "bytes": got.size, "truncated": got.truncated})


def _chunk(chunk: Chunk) -> dict[str, Any]:
    try:
        return {"ms": chunk.ms, "text": chunk.data.decode("utf-8")}
    except UnicodeDecodeError:
        return {"ms": chunk.ms, "base64": base64.b64encode(chunk.data).decode("ascii")}


def _run(run: Run) -> dict[str, Any]:
    key = {"provider": run.profile.provider, "model": run.profile.model}
    times = {
        "created_at": run.created_at,
        "started_at": run.started_at,
        "ended_at": run.finished_at,
    }
    told = {name: at.isoformat() if at else None for name, at in times.items()}
    facts = {name: getattr(run, name) for name in _RUN}
    return {"endpoint": run.endpoint.slug, **key, **facts, **told}


def _json(value: Any) -> bytes:
    # In ASCII: what a model sent may have characters that no encoding takes.
    return (json.dumps(value, indent=2, sort_keys=isinstance(value, Mapping)) + "\n").encode()


class _Pipe(io.RawIOBase):
    """A file that can only be written, and is emptied as it is."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []

    @override
    def writable(self) -> bool:
        return True

    @override
    def write(self, data: Any) -> int:
        self._pieces.append(bytes(data))
        return len(data)

    def taken(self) -> bytes:
        data = b"".join(self._pieces)
        self._pieces.clear()
        return data


def _zipped(files: Iterable[tuple[str, bytes]]) -> Iterator[bytes]:
    pipe = _Pipe()
    with zipfile.ZipFile(pipe, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files:
            # No clock and no file mode of this machine, so that equal rows are equal bytes.
            entry = zipfile.ZipInfo(name, _EPOCH)
            entry.compress_type, entry.external_attr = zipfile.ZIP_DEFLATED, 0o644 << 16
            archive.writestr(entry, data)
            yield pipe.taken()
    yield pipe.taken()
