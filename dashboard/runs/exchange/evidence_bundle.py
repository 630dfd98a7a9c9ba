"""Evidence as a zip for a bug report. The same rows give the same bytes.

Evidence is redacted before it is stored, and building a bundle reads no credential.
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
from dashboard.runs.exchange.stored_evidence import Exchange, StoredReply, read_exchanges
from probes.http_messages import Chunk
from probes.target import Provider

# Limits all files of a run together; LEFT_OUT.txt lists the attempts that did not fit.
MAX_BYTES = 64 * 1024 * 1024
_EPOCH = (1980, 1, 1, 0, 0, 0)
_RUN_FIELDS = (
    *("id", "trigger", "suite", "suite_version", "seed", "state", "reason", "passed", "failed"),
    *("void", "requests", "input_tokens", "output_tokens", "simulated", "key_epoch"),
)
_ATTEMPT_FIELDS = (
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


def bundle_attempt(run: Run, attempt: Attempt) -> bytes:
    """The zip of one attempt."""
    return b"".join(_zip_files(_bundle_files(run, [attempt])))


def stream_run_bundle(run: Run) -> Iterator[bytes]:
    """The zip of all attempts of a run, in pieces; one attempt is in memory at a time."""
    attempts = Attempt.objects.of(run).order_by("probe", "trial")
    return _zip_files(_bundle_files(run, attempts.iterator(chunk_size=50)))


def file_name(run: Run, attempt: Attempt | None = None) -> str:
    """The name of a download, without its extension; safe characters only."""
    suffix = f"-{attempt.probe}-{attempt.trial}" if attempt else ""
    return re.sub(r"[^A-Za-z0-9._-]", "_", f"{run.endpoint.slug}-run-{run.pk}{suffix}")[:120]


def _bundle_files(run: Run, attempts: Iterable[Attempt]) -> Iterator[tuple[str, bytes]]:
    yield "README.txt", _README.encode()
    yield "run.json", _to_json(_run_json(run))
    room = MAX_BYTES
    left_out: list[str] = []
    has_key = hasattr(run.endpoint, "credential")
    for attempt in attempts:
        name = re.sub(r"[^A-Za-z0-9._-]", "_", f"{attempt.probe}-{attempt.trial}")[:80]
        files = list(_attempt_files(run, attempt, has_key)) if room > 0 else []
        room -= sum(len(data) for _, data in files)
        if room <= 0:
            left_out.append(f"{attempt.probe} {attempt.trial}")
            continue
        yield from ((f"{name}/{path}", data) for path, data in files)
    if left_out:
        yield "LEFT_OUT.txt", "\n".join(["Too large for one bundle:", *left_out, ""]).encode()


def _attempt_files(run: Run, attempt: Attempt, has_key: bool) -> Iterator[tuple[str, bytes]]:
    facts = {name: getattr(attempt, name) for name in _ATTEMPT_FIELDS}
    stored = evidence.read_evidence(attempt)
    facts["started_at"] = attempt.started_at.isoformat()
    facts["has_evidence"] = stored is not None
    yield "attempt.json", _to_json(facts)
    yield "findings.json", _to_json(attempt.findings)
    for exchange in read_exchanges(stored or {}):
        for path, data in _exchange_files(exchange, run.provider or run.profile.provider, has_key):
            yield f"{exchange.number}/{path}", data


def _exchange_files(
    exchange: Exchange, provider: str, has_key: bool
) -> Iterator[tuple[str, bytes]]:
    request_json: dict[str, Any] = {"label": exchange.label, "error": exchange.error or None}
    if request := exchange.request:
        head = {"method": request.method, "url": request.url, "headers": dict(request.headers)}
        request_json |= head | {"body": request.body, "truncated": request.truncated}
        command = curl.build_command(request, Provider(provider), has_key=has_key)
        yield "curl.sh", f"#!/bin/sh\n{command}".encode("utf-8", "backslashreplace")
    yield "request.json", _to_json(request_json)
    if exchange.reply is not None:
        yield from _reply_files(exchange.reply)
    yield "calls.json", _to_json(exchange.calls)


def _reply_files(reply: StoredReply) -> Iterator[tuple[str, bytes]]:
    yield "reply.txt", reply.body
    yield "chunks.jsonl", "".join(json.dumps(_chunk_json(c)) + "\n" for c in reply.chunks).encode()
    facts = {
        "status": reply.status,
        "http_version": reply.http_version,
        "headers": dict(reply.headers),
    }
    times = {"first_byte_ms": reply.first_byte_ms, "total_ms": reply.total_ms}
    yield (
        "reply.json",
        _to_json({**facts, **times, "bytes": reply.size, "truncated": reply.truncated}),
    )


def _chunk_json(chunk: Chunk) -> dict[str, Any]:
    try:
        return {"ms": chunk.ms, "text": chunk.data.decode("utf-8")}
    except UnicodeDecodeError:
        return {"ms": chunk.ms, "base64": base64.b64encode(chunk.data).decode("ascii")}


def _run_json(run: Run) -> dict[str, Any]:
    key = {"provider": run.profile.provider, "model": run.profile.model}
    times = {
        "created_at": run.created_at,
        "started_at": run.started_at,
        "ended_at": run.finished_at,
    }
    iso_times = {name: at.isoformat() if at else None for name, at in times.items()}
    facts = {name: getattr(run, name) for name in _RUN_FIELDS}
    return {"endpoint": run.endpoint.slug, **key, **facts, **iso_times}


def _to_json(value: Any) -> bytes:
    # In ASCII: a model may send characters that cannot be encoded, such as lone surrogates.
    return (json.dumps(value, indent=2, sort_keys=isinstance(value, Mapping)) + "\n").encode()


class _WriteBuffer(io.RawIOBase):
    """A write-only file whose content is drained in pieces."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []

    @override
    def writable(self) -> bool:
        return True

    @override
    def write(self, data: Any) -> int:
        self._pieces.append(bytes(data))
        return len(data)

    def drain(self) -> bytes:
        data = b"".join(self._pieces)
        self._pieces.clear()
        return data


def _zip_files(files: Iterable[tuple[str, bytes]]) -> Iterator[bytes]:
    buffer = _WriteBuffer()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files:
            # A fixed time and file mode, so that the same rows give the same bytes.
            entry = zipfile.ZipInfo(name, _EPOCH)
            entry.compress_type, entry.external_attr = zipfile.ZIP_DEFLATED, 0o644 << 16
            archive.writestr(entry, data)
            yield buffer.drain()
    yield buffer.drain()
