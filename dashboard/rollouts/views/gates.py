"""The settings page of the gates."""

from __future__ import annotations

from typing import cast

from django.contrib import messages
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from dashboard.accounts.reauthentication import require_reauthentication
from dashboard.core.errors import Refused
from dashboard.core.permissions import Right, actor_of, needs
from dashboard.models import GateVersion
from dashboard.rollouts import gate_versions
from dashboard.rollouts.gate_form import GatesForm
from dashboard.trust import gates
from health.gates import find_gate_errors


@needs(Right.READ, change=Right.ADMINISTER)
@require_reauthentication
@require_http_methods(["GET", "HEAD", "POST"])
def gates_page(request: HttpRequest) -> HttpResponse:
    version, current_gates = GateVersion.current()
    seen = str(version.pk if version else 0)
    form = GatesForm(current_gates, request.POST or None)
    refusal = ""
    if request.method == "POST" and form.is_valid():
        refusal = _refusal(request, form, seen) or _save_gates(request, form, seen)
        if not refusal and not form.has_errors:
            messages.success(request, _("These gates hold from now on."))
            return redirect("gates")
    context = {
        "version": version,
        "seen": seen,
        "form": form,
        "refusal": refusal,
        "may_change": actor_of(request).may_somewhere(Right.ADMINISTER),
        "gates": gate_versions.describe_gates(current_gates),
        "versions": gate_versions.read_gate_versions(),
        "voided_count": gate_versions.count_voided_by_change(),
    }
    return render(request, "rollouts/gates.html", context)


def _refusal(request: HttpRequest, form: GatesForm, seen: str) -> str:
    if request.POST.get("seen", seen) != seen:
        return _(
            "Somebody has changed the gates since you opened this page. Compare your values with "
            "what holds now, below, and save again to replace it."
        )
    if not form.is_changed():
        return _("These are the gates that hold already; nothing was changed.")
    return ""


def _save_gates(request: HttpRequest, form: GatesForm, seen: str) -> str:
    body = form.body()
    if errors := find_gate_errors(body):
        form.add_path_errors(errors)
        return ""
    by, reason = cast(User, request.user), form.reason.cleaned_data["reason"]
    try:
        gates.change_gates(body, by=by, reason=reason, seen=int(seen))
    except Refused as exc:
        return exc.message
    return ""
