"""Imports endpoints from a file, with a preview of the plan, and exports them."""

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
from dashboard.endpoints.as_code.file_errors import InvalidFile
from dashboard.endpoints.as_code.file_reader import DeclaredEndpoint
from dashboard.endpoints.services import apply_file

# Steps per page; `toolgauge plan` prints all of them.
MAX_STEPS = 100


@dataclass(slots=True)
class ImportSubmission:
    """The submitted form; every response shows it again."""

    text: str = ""
    prune: bool = False
    state: str = ""
    applies: bool = False


@needs(Right.ADMINISTER)
@require_reauthentication_when(lambda request: request.POST.get("do") == "apply")
@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
def import_page(request: HttpRequest) -> HttpResponse:
    submission = ImportSubmission(
        text=request.POST.get("text", ""),
        prune="prune" in request.POST,
        state=request.POST.get("state", ""),
        applies=request.POST.get("do") == "apply",
    )
    if request.method != "POST":
        return _render_import(request, submission)
    try:
        return _plan_or_apply(request, submission)
    except InvalidFile as exc:
        context = {"mistakes": excerpts(submission.text, exc.mistakes), "left_out": exc.left_out}
        return _render_import(
            request, submission, count=len(exc.mistakes) + exc.left_out, **context
        )


@needs(Right.READ)
@require_safe
def export_file(request: HttpRequest) -> HttpResponse:
    text = file_writer.export_endpoints(actor_of(request).teams(Right.READ))
    response = HttpResponse(text, content_type="application/yaml; charset=utf-8")
    response["Content-Disposition"] = 'attachment; filename="endpoints.yaml"'
    return response


def _plan_or_apply(request: HttpRequest, submission: ImportSubmission) -> HttpResponse:
    upload = request.FILES.get("file")
    if isinstance(upload, UploadedFile):
        # One byte above the limit, so that the reader can refuse it.
        submission.text = file_reader.decode_file(upload.read(file_reader.MAX_BYTES + 1))
    # No variables: the environment of this process holds its own secrets, not endpoint keys.
    declared = file_reader.read_endpoints(submission.text, variables=None)
    by = cast(User, request.user)
    try:
        if not submission.applies:
            return _render_import(
                request, submission, plan=apply_plan.make_plan(declared, prune=submission.prune)
            )
        applied = apply_file.apply_endpoints(
            declared, prune=submission.prune, expected=submission.state, by=by
        )
    except apply_file.PlanOutdated as exc:
        return _render_import(request, submission, plan=exc.plan, refusal=exc.message)
    except Refused as exc:
        return _render_import(
            request, submission, refusal=exc.message, **_plan_if_possible(declared, submission)
        )
    return render(request, "endpoints/import_result.html", _plan_context(applied))


def _plan_if_possible(
    declared: list[DeclaredEndpoint], submission: ImportSubmission
) -> dict[str, Plan]:
    """The plan beside the refusal; empty if planning is refused too."""
    try:
        return {"plan": apply_plan.make_plan(declared, prune=submission.prune)}
    except Refused:
        return {}


def _render_import(
    request: HttpRequest, submission: ImportSubmission, **context: Any
) -> HttpResponse:
    # HTML cannot contain NUL; its symbol shows where it was.
    submission.text = submission.text.replace("\0", "\u2400")
    context["submission"] = submission
    if plan := context.get("plan"):
        context |= _plan_context(plan)
    return render(request, "endpoints/import.html", context)


def _plan_context(plan: Plan) -> dict[str, Any]:
    return {
        "plan": plan,
        "steps": plan.changing[:MAX_STEPS],
        "steps_left": max(0, len(plan.changing) - MAX_STEPS),
        "missing": plan.steps_with(Action.MISSING)[:MAX_STEPS],
        "missing_left": max(0, plan.counts["missing"] - MAX_STEPS),
        "keyless": [s for s in plan.steps if Effect.KEY_WANTED in s.effects][:MAX_STEPS],
    }
