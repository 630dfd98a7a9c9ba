"""One attempt down to its bytes: conversation, evidence, chunks, difference, downloads."""

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
from dashboard.runs import text as probe_words
from dashboard.runs.exchange import attempt_diff, chunk_timeline, evidence_bundle
from dashboard.runs.exchange.evidence_view import EvidenceShown, Source, inert_finding, shown
from dashboard.runs.exchange.stored_evidence import Exchange, exchanges
from dashboard.runs.views.runs import find

# Beyond what the table's column can hold there is no trial.
_MOST = 2**31 - 1


@dataclass(frozen=True, slots=True)
class _Found:
    run: Run
    attempt: Attempt

    def context(self) -> dict[str, Any]:
        beside = list(
            Attempt.objects.of(self.run).order_by("probe", "trial").values_list("probe", "trial")
        )
        at = beside.index((self.attempt.probe, self.attempt.trial))
        return {
            "run": self.run,
            "attempt": self.attempt,
            "question": probe_words.question(self.attempt.probe),
            "group": probe_words.group_of(self.attempt.probe),
            "before": beside[at - 1] if at else None,
            "after": beside[at + 1] if at + 1 < len(beside) else None,
        }


@needs(Right.READ)
@require_safe
@vary_on_headers("HX-Request")
def page(request: HttpRequest, run_id: int, probe: str, trial: int) -> HttpResponse:
    found = _find(run_id, probe, trial)
    limit = MAX_SHOWN_LENGTH if request.GET.get("show") == "all" else SHOWN_LENGTH
    context = {"run": found.run, "attempt": found.attempt, "evidence": _evidence(found, limit)}
    if request.headers.get("HX-Request"):
        return render(request, "runs/_evidence.html", context)
    return render(request, "runs/attempt.html", {**found.context(), **context})


@needs(Right.READ)
@require_safe
@vary_on_headers("HX-Request")
def chunks(request: HttpRequest, run_id: int, probe: str, trial: int, step: int) -> HttpResponse:
    found = _find(run_id, probe, trial)
    exchange = _exchange(found, step)
    asked = request.GET.get("page", "")
    number = int(asked) if asked.isascii() and asked.isdigit() and len(asked) < 7 else 1
    got = exchange.got
    context = {
        **found.context(),
        "exchange": exchange,
        "page": chunk_timeline.page(got.chunks if got else (), number),
        "timeline": chunk_timeline.timeline(got.chunks if got else ()),
    }
    part = request.headers.get("HX-Request")
    template = "runs/_chunks.html" if part else "runs/chunks.html"
    return render(request, template, context)


@needs(Right.READ)
@require_safe
def difference(request: HttpRequest, run_id: int, probe: str, trial: int) -> HttpResponse:
    found = _find(run_id, probe, trial)
    good = last_passing.of(found.attempt, found.run)
    is_raw = request.GET.get("as") == "raw"
    compared = attempt_diff.of(found.attempt, found.run, good, is_raw=is_raw) if good else None
    context = {"good": good, "compared": compared, "is_raw": is_raw}
    return render(request, "runs/difference.html", {**found.context(), **context})


@needs(Right.READ)
@require_safe
def raw(request: HttpRequest, run_id: int, probe: str, trial: int, step: int) -> HttpResponse:
    found = _find(run_id, probe, trial)
    exchange = _exchange(found, step)
    if exchange.got is None:
        raise Http404("No reply arrived.")
    name = f"{evidence_bundle.file_name(found.run, found.attempt)}-{step}-reply.bin"
    return HttpResponse(exchange.got.body, headers=http.download_headers(name))


@needs(Right.READ)
@require_safe
def download(request: HttpRequest, run_id: int, probe: str, trial: int) -> HttpResponse:
    found = _find(run_id, probe, trial)
    name = f"{evidence_bundle.file_name(found.run, found.attempt)}.zip"
    body = evidence_bundle.of_attempt(found.run, found.attempt)
    return HttpResponse(body, headers=http.download_headers(name, "application/zip"))


def _find(run_id: int, probe: str, trial: int) -> _Found:
    run = find(run_id)
    if trial > _MOST or "\0" in probe:
        raise Http404("There is no such attempt.")
    return _Found(run, get_object_or_404(Attempt.objects.of(run), probe=probe, trial=trial))


def _evidence(found: _Found, limit: int) -> EvidenceShown:
    stored = evidence.read(found.attempt)
    if stored is None:
        return EvidenceShown((), tuple(inert_finding(each) for each in found.attempt.findings))
    source = Source(
        provider=found.run.profile.provider,
        has_key=hasattr(found.run.endpoint, "credential"),
        prefix=f"mark-{found.attempt.probe}-{found.attempt.trial}",
    )
    return shown(stored, found.attempt.findings, source, limit=limit)


def _exchange(found: _Found, step: int) -> Exchange:
    stored = exchanges(evidence.read(found.attempt) or {})
    if not 1 <= step <= len(stored):
        raise Http404("There is no such exchange.")
    return stored[step - 1]
