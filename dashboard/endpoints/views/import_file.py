"""Endpoints from a file: what it would change, then the change itself; and the way back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

from django.contrib.auth.models import User
from django.core.files.uploadedfile import UploadedFile
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_safe

from dashboard.accounts.reauthentication import require_reauthentication_when
from dashboard.core.errors import Refused
from dashboard.core.permissions import Right, actor_of, needs
from dashboard.endpoints.as_code import apply_plan, file_reader, file_writer
from dashboard.endpoints.as_code.apply_plan import Action, Effect, Plan
from dashboard.endpoints.as_code.excerpts import excerpts
from dashboard.endpoints.as_code.file_errors import Unreadable
from dashboard.endpoints.as_code.file_reader import Declared
from dashboard.endpoints.services import apply_file

# A page with thousands of steps is read by nobody; the command prints them all.
MOST_SHOWN = 100


@dataclass(slots=True)
class Asked:
    """What a person gave: it is given back whatever happens."""

    text: str = ""
    prune: bool = False
    state: str = ""
    applies: bool = False


@needs(Right.ADMINISTER)
@require_reauthentication_when(lambda request: request.POST.get("do") == "apply")
@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
def page(request: HttpRequest) -> HttpResponse:
    asked = Asked(
        text=request.POST.get("text", ""),
        prune="prune" in request.POST,
        state=request.POST.get("state", ""),
        applies=request.POST.get("do") == "apply",
    )
    if request.method != "POST":
        return _form(request, asked)
    try:
        return _answer(request, asked)
    except Unreadable as exc:
        wrong = {"mistakes": excerpts(asked.text, exc.mistakes), "left_out": exc.left_out}
        return _form(request, asked, count=len(exc.mistakes) + exc.left_out, **wrong)


@needs(Right.READ)
@require_safe
def export(request: HttpRequest) -> HttpResponse:
    text = file_writer.export(actor_of(request).teams(Right.READ))
    answer = HttpResponse(text, content_type="application/yaml; charset=utf-8")
    answer["Content-Disposition"] = 'attachment; filename="endpoints.yaml"'
    return answer


def _answer(request: HttpRequest, asked: Asked) -> HttpResponse:
    chosen = request.FILES.get("file")
    if isinstance(chosen, UploadedFile):
        # One byte more than is allowed, so that the reader can tell.
        asked.text = file_reader.decode(chosen.read(file_reader.MAX_BYTES + 1))
    # No variables: those of this process are its own secrets, not keys of endpoints.
    declared = file_reader.read(asked.text, variables=None)
    by = cast(User, request.user)
    try:
        if not asked.applies:
            return _form(request, asked, plan=apply_plan.make(declared, prune=asked.prune))
        done = apply_file.apply(declared, prune=asked.prune, expected=asked.state, by=by)
    except apply_file.Outdated as exc:
        return _form(request, asked, plan=exc.plan, refusal=exc.message)
    except Refused as exc:
        return _form(request, asked, refusal=exc.message, **_planned(declared, asked))
    return render(request, "endpoints/import_result.html", _plan_context(done))


def _planned(declared: list[Declared], asked: Asked) -> dict[str, Plan]:
    """What is planned, beside why it was refused; nothing where that cannot be said either."""
    try:
        return {"plan": apply_plan.make(declared, prune=asked.prune)}
    except Refused:
        return {}


def _form(request: HttpRequest, asked: Asked, **found: Any) -> HttpResponse:
    # A page cannot carry NUL; its picture says what was there.
    asked.text = asked.text.replace("\0", "\u2400")
    context = {"asked": asked, **found}
    if plan := found.get("plan"):
        context |= _plan_context(plan)
    return render(request, "endpoints/import.html", context)


def _plan_context(plan: Plan) -> dict[str, Any]:
    return {
        "plan": plan,
        "steps": plan.changing[:MOST_SHOWN],
        "steps_left": max(0, len(plan.changing) - MOST_SHOWN),
        "missing": plan.of(Action.MISSING)[:MOST_SHOWN],
        "missing_left": max(0, plan.counts["missing"] - MOST_SHOWN),
        "keyless": [s for s in plan.steps if Effect.KEY_WANTED in s.effects][:MOST_SHOWN],
    }
