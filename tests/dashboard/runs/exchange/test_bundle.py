from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Iterable

import pytest
from django.test import Client

from dashboard.models import Run
from dashboard.runs.exchange import evidence_bundle
from probes.exchange_evidence import Exchange, record_evidence
from probes.findings import Finding, FindingKind
from probes.http_messages import Chunk, WireRequest, WireResponse
from probes.redaction import Redactor
from probes.secret import Secret
from tests.dashboard.runs.exchange.builders import (
    build_chunked_reply,
    build_evidence,
    build_exchange,
)
from tests.factories import make_attempt, make_endpoint, make_finished_run

KEY = "sk-very/secret+key=1234567890"


@pytest.fixture
def run(db: None) -> Run:
    """A run whose endpoint echoed the API key wherever possible."""
    run = make_finished_run(make_endpoint(key=Secret(KEY)))
    outgoing = WireRequest(
        "POST", f"http://127.0.0.1:9/v1?k={KEY}", _headers(), f'"{KEY}"'.encode()
    )
    echo = f'{{"said": "{KEY}"}}'.encode()
    chunks = (Chunk(1, echo[:20]), Chunk(2, echo[20:]))
    incoming = WireResponse(401, {"x-request-id": KEY, "set-cookie": KEY}, chunks)
    redactor = Redactor(Secret(KEY))
    message = redactor.text(f"The endpoint says {KEY}.")
    finding = Finding(FindingKind.AUTH_REJECTED, message)
    recorded = record_evidence([Exchange(outgoing, incoming, error=KEY)], [finding], redactor)
    make_attempt(run, outcome="void", findings=[finding.as_json()], evidence=recorded.as_json())
    return run


def _headers() -> dict[str, str]:
    return {"Authorization": f"Bearer {KEY}", "Content-Type": "application/json", "X-Mine": KEY}


def _unzip(pieces: Iterable[bytes]) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(b"".join(pieces))) as archive:
        assert archive.testzip() is None
        return {name: archive.read(name) for name in archive.namelist()}


def test_a_bundle_has_everything_but_the_key(run: Run, signed_in: Client) -> None:
    """A bundle contains all that is stored, and no credential."""
    files = _unzip([signed_in.get(f"/runs/{run.pk}/attempts/format/1/bundle/").content])

    assert list(files) == [
        *("README.txt", "run.json", "format-1/attempt.json", "format-1/findings.json"),
        *("format-1/1/curl.sh", "format-1/1/request.json", "format-1/1/reply.txt"),
        *("format-1/1/chunks.jsonl", "format-1/1/reply.json", "format-1/1/calls.json"),
    ]
    everything = b"\n".join(files.values())
    assert b"very" not in everything
    assert b"1234567890" not in everything
    assert everything.count(b"[redacted]") >= 4
    assert b'"authorization: Bearer "' not in everything
    assert b'Bearer \'"$API_KEY"' in files["format-1/1/curl.sh"]
    assert json.loads(files["run.json"])["endpoint"] == "steady"


def test_the_same_rows_give_the_same_bytes(run: Run) -> None:
    """Two bundles of the same run are identical."""
    assert b"".join(evidence_bundle.stream_run_bundle(run)) == b"".join(
        evidence_bundle.stream_run_bundle(run)
    )


def test_the_bytes_of_a_reply_are_kept_as_they_are(run: Run) -> None:
    """The body of a reply is written without decoding."""
    reply = build_chunked_reply(["x"])
    reply["chunks"] = [{"ms": 1, "base64": "AP/+"}]
    make_attempt(run, trial=2, evidence=build_evidence(build_exchange(reply=reply)))

    files = _unzip(evidence_bundle.stream_run_bundle(run))

    assert files["format-2/1/reply.txt"] == b"\x00\xff\xfe"
    assert json.loads(files["format-2/1/chunks.jsonl"]) == {"ms": 1, "base64": "AP/+"}


def test_a_bundle_is_bounded(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Attempts that do not fit are listed in LEFT_OUT.txt."""
    for trial in (2, 3, 4):
        make_attempt(run, trial=trial)
    monkeypatch.setattr(evidence_bundle, "MAX_BYTES", 1200)

    files = _unzip(evidence_bundle.stream_run_bundle(run))

    assert b"format 4" in files["LEFT_OUT.txt"]
    assert "format-4/attempt.json" not in files


def test_a_hostile_name_stays_inside_the_bundle(run: Run) -> None:
    """No entry has a path outside of the bundle."""
    make_attempt(run, probe="../../etc/x", trial=1)

    assert not [
        name for name in _unzip(evidence_bundle.stream_run_bundle(run)) if ".." in name.split("/")
    ]


def test_raw_bytes_are_only_downloaded(run: Run, signed_in: Client) -> None:
    """A browser neither renders nor sniffs the raw reply of an endpoint."""
    page = "<script>alert(1)</script>"
    make_attempt(
        run, trial=2, evidence=build_evidence(build_exchange(reply=build_chunked_reply([page])))
    )

    response = signed_in.get(f"/runs/{run.pk}/attempts/format/2/1/raw/")

    assert response.content == page.encode()
    assert response.headers["Content-Type"] == "application/octet-stream"
    assert response.headers["Content-Disposition"].startswith("attachment;")
    assert response.headers["X-Content-Type-Options"] == "nosniff"
    assert "sandbox" in response.headers["Content-Security-Policy"]
