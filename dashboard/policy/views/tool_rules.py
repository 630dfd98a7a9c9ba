"""The settings page of tool classes, for administrators."""

from __future__ import annotations

from django.contrib import messages
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST

from dashboard.core.errors import Refused
from dashboard.core.labels import RISKS, code_label
from dashboard.core.permissions import Right, needs
from dashboard.models import ToolRule
from dashboard.policy.forms import ToolNameForm, ToolRuleForm
from dashboard.trust import tool_rules
from health.known_tools import DEFAULTS, KNOWN
from health.risk import Risk, classify_tool

# Each agent with its tools, one list per class.
_BY_CLASS = [
    (agent, [(risk, [rule for rule in rules if rule.risk is risk]) for risk in Risk])
    for agent, rules in KNOWN.items()
]


@needs(Right.ADMINISTER)
@require_http_methods(["GET", "HEAD", "POST"])
def tool_rules_page(request: HttpRequest) -> HttpResponse:
    form = ToolRuleForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        assert isinstance(request.user, User)
        try:
            rule = tool_rules.add_rule(by=request.user, **form.cleaned_data)
        except Refused as exc:
            form.add_error("pattern", exc.message)
        else:
            message = _("{pattern} is {risk} from now on, everywhere.")
            risk = code_label(rule.risk, RISKS)
            messages.success(request, message.format(pattern=rule.pattern, risk=risk))
            return redirect("tool-rules")
    rules = list(ToolRule.objects.select_related("created_by").in_order())
    name_form = ToolNameForm(request.GET if "name" in request.GET else None)
    context = {"form": form, "rules": rules, "known": _BY_CLASS, "name_form": name_form}
    if name_form.is_valid():
        name: str = name_form.cleaned_data["name"]
        classification = classify_tool(name, [*(each.rule for each in rules), *DEFAULTS])
        context |= {"tried": name, "classification": classification}
    return render(request, "policy/tool_rules.html", context)


@needs(Right.ADMINISTER)
@require_http_methods(["GET", "HEAD", "POST"])
def change_tool_rule(request: HttpRequest, rule_id: int) -> HttpResponse:
    rule = get_object_or_404(ToolRule, pk=rule_id)
    initial = {"pattern": rule.pattern, "risk": rule.risk, "note": rule.note}
    form = ToolRuleForm(request.POST or None, initial=initial)
    if request.method == "POST" and form.is_valid():
        try:
            tool_rules.change_rule(rule, **form.cleaned_data)
        except Refused as exc:
            form.add_error("pattern", exc.message)
        else:
            return redirect("tool-rules")
    return render(request, "policy/tool_rule_form.html", {"form": form, "initial": initial})


@needs(Right.ADMINISTER)
@require_POST
def move_tool_rule(request: HttpRequest, rule_id: int) -> HttpResponse:
    rule = get_object_or_404(ToolRule, pk=rule_id)
    try:
        tool_rules.move_rule(rule, up=request.POST.get("to") == "up")
    except Refused as exc:
        messages.error(request, exc.message)
    return redirect("tool-rules")


@needs(Right.ADMINISTER)
@require_POST
def remove_tool_rule(request: HttpRequest, rule_id: int) -> HttpResponse:
    rule = get_object_or_404(ToolRule, pk=rule_id)
    if tool_rules.remove_rule(rule):
        message = _("The rule for {pattern} is removed.").format(pattern=rule.pattern)
        messages.success(request, message)
    return redirect("tool-rules")
