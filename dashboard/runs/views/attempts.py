"""The pages of an attempt: conversation, evidence, chunks, diff, downloads."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_safe
from django.views.decorators.vary import vary_on_headers

from dashboard.core import http
from dashboard.core.permissions import Right, needs
from dashboard.core.safe_text import MAX_SHOWN_LENGTH, SHOWN_LENGTH
from dashboard.models import Attempt, Run
from dashboard.runs import evidence, last_passing
from dashboard.runs import text as probe_text
from dashboard.runs.exchange import attempt_diff, chunk_timeline, evidence_bundle
from dashboard.runs.exchange.evidence_view import (
    EvidenceSource,
    EvidenceView,
    build_evidence_view,
    build_finding_view,
)
from dashboard.runs.exchange.stored_evidence import Exchange, read_exchanges
from dashboard.runs.views.runs import find_run

# The largest value of the column.
_MAX_TRIAL = 2**31 - 1


@dataclass(frozen=True, slots=True)
class _RequestedAttempt:
    run: Run
    attempt: Attempt

    def context(self) -> dict[str, Any]:
        siblings = list(
            Attempt.objects.of(self.run).order_by("probe", "trial").values_list("probe", "trial")
        )
        index = siblings.index((self.attempt.probe, self.attempt.trial))
        return {
            "run": self.run,
            "attempt": self.attempt,
            "question": probe_text.probe_question(self.attempt.probe),
            "group": probe_text.probe_group(self.attempt.probe),
            "before": siblings[index - 1] if index else None,
            "after": siblings[index + 1] if index + 1 < len(siblings) else None,
        }


@needs(Right.READ)
@require_safe
@vary_on_headers("HX-Request")
def attempt_page(request: HttpRequest, run_id: int, probe: str, trial: int) -> HttpResponse:
    requested = _find_attempt(run_id, probe, trial)
    limit = MAX_SHOWN_LENGTH if request.GET.get("show") == "all" else SHOWN_LENGTH
    evidence_view = _build_evidence_view(requested, limit)
    context = {"run": requested.run, "attempt": requested.attempt, "evidence": evidence_view}
    if request.headers.get("HX-Request"):
        return render(request, "runs/_evidence.html", context)
    return render(request, "runs/attempt.html", {**requested.context(), **context})


@needs(Right.READ)
@require_safe
@vary_on_headers("HX-Request")
def chunks_page(
    request: HttpRequest, run_id: int, probe: str, trial: int, step: int
) -> HttpResponse:
    requested = _find_attempt(run_id, probe, trial)
    exchange = _find_exchange(requested, step)
    chunks = exchange.reply.chunks if exchange.reply else ()
    context = {
        **requested.context(),
        "exchange": exchange,
        "page": chunk_timeline.build_chunk_page(chunks, _page_number(request)),
        "timeline": chunk_timeline.build_timeline(chunks),
    }
    is_htmx = request.headers.get("HX-Request")
    template = "runs/_chunks.html" if is_htmx else "runs/chunks.html"
    return render(request, template, context)


@needs(Right.READ)
@require_safe
def diff_page(request: HttpRequest, run_id: int, probe: str, trial: int) -> HttpResponse:
    requested = _find_attempt(run_id, probe, trial)
    passing = last_passing.find_last_passing(requested.attempt, requested.run)
    is_raw = request.GET.get("as") == "raw"
    diff = None
    if passing:
        diff = attempt_diff.diff_attempts(requested.attempt, requested.run, passing, is_raw=is_raw)
    context = {"passing": passing, "attempt_diff": diff, "is_raw": is_raw}
    return render(request, "runs/difference.html", {**requested.context(), **context})


@needs(Right.READ)
@require_safe
def download_reply(
    request: HttpRequest, run_id: int, probe: str, trial: int, step: int
) -> HttpResponse:
    requested = _find_attempt(run_id, probe, trial)
    exchange = _find_exchange(requested, step)
    if exchange.reply is None:
        raise Http404("No reply arrived.")
    name = f"{evidence_bundle.file_name(requested.run, requested.attempt)}-{step}-reply.bin"
    return HttpResponse(exchange.reply.body, headers=http.download_headers(name))


@needs(Right.READ)
@require_safe
def download_bundle(request: HttpRequest, run_id: int, probe: str, trial: int) -> HttpResponse:
    requested = _find_attempt(run_id, probe, trial)
    name = f"{evidence_bundle.file_name(requested.run, requested.attempt)}.zip"
    body = evidence_bundle.bundle_attempt(requested.run, requested.attempt)
    return HttpResponse(body, headers=http.download_headers(name, "application/zip"))


def _page_number(request: HttpRequest) -> int:
    text = request.GET.get("page", "")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 7 else 1


def _find_attempt(run_id: int, probe: str, trial: int) -> _RequestedAttempt:
    run = find_run(run_id)
    if trial > _MAX_TRIAL or "\0" in probe:
        raise Http404("There is no such attempt.")
    return _RequestedAttempt(
        run, get_object_or_404(Attempt.objects.of(run), probe=probe, trial=trial)
    )


def _build_evidence_view(requested: _RequestedAttempt, limit: int) -> EvidenceView:
    stored = evidence.read_evidence(requested.attempt)
    if stored is None:
        return EvidenceView(
            (), tuple(build_finding_view(each) for each in requested.attempt.findings)
        )
    source = EvidenceSource(
        provider=requested.run.profile.provider,
        has_key=hasattr(requested.run.endpoint, "credential"),
        prefix=f"mark-{requested.attempt.probe}-{requested.attempt.trial}",
    )
    return build_evidence_view(stored, requested.attempt.findings, source, limit=limit)


def _find_exchange(requested: _RequestedAttempt, step: int) -> Exchange:
    exchanges = read_exchanges(evidence.read_evidence(requested.attempt) or {})
    if not 1 <= step <= len(exchanges):
        raise Http404("There is no such exchange.")
    return exchanges[step - 1]
