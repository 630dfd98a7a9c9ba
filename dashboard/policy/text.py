"""Describes a policy to people, line by line."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext, pgettext

from dashboard.core.labels import RISKS, code_label
from dashboard.core.safe_text import visible

Body = Mapping[str, Any]

_SCHEMA_LEVELS = {
    "none": gettext_lazy("none"),
    "string_only": gettext_lazy("strings only"),
    "simple_object": gettext_lazy("simple objects"),
    "strict_json_schema": gettext_lazy("whole JSON Schema"),
}
_REPLAY_RULES = {
    "none": gettext_lazy("not sent back"),
    "same_turn": gettext_lazy("sent back within the same turn"),
    "all_turns": gettext_lazy("sent back for all turns"),
    "signature": gettext_lazy("sent back with its signature"),
    "item_pair": gettext_lazy("sent back beside the call it belongs to"),
    "behavioural": gettext_lazy("sent back where the answers become worse without it"),
}


def describe_policy(body: Body) -> list[tuple[str, str]]:
    """Label and text of each part of a policy; missing parts are omitted."""
    replay = (_("Reasoning"), _replay_text(body.get("replay", {})))
    if body.get("risk", {}).get("allowed") == []:
        return [(_("Tools"), pgettext("tools", "none")), replay]
    lines = [
        (_("Tools"), _tools_text(body)),
        (_("Calls arrive as"), _format_text(body.get("tool_call", {}))),
        (_("Calls a turn"), _calls_text(body.get("parallel", {}))),
        (_("Streams"), _streams_text(body.get("streaming", {}))),
        (_("Schemas"), _schemas_text(body.get("schema", {}))),
        (_("Calls that do not fit"), _invalid_calls_text(body.get("validation", {}))),
        replay,
    ]
    return [(label, text) for label, text in lines if text]


def describe_trust(body: Body) -> str:
    """Which tools callers may use now, in one sentence."""
    allowed = body.get("risk", {}).get("allowed")
    if not allowed:
        return _("Callers get no tools now.")
    if set(allowed) == {"read"}:
        return _("Callers may use tools that read, and no others.")
    if set(allowed) == {"read", "write"}:
        return _("Callers may use tools that read or write.")
    return _("Callers may use every tool.")


def _tools_text(body: Body) -> str:
    allowed = body.get("risk", {}).get("allowed")
    if allowed is None:
        return ""
    return _("only those of risk {risks}").format(
        risks=", ".join(code_label(risk, RISKS) for risk in allowed)
    )


def _format_text(part: Body) -> str:
    name, parser = part.get("format"), part.get("parser")
    if not name or name == "none":
        return ""
    if not parser:
        return visible(str(name))
    message = _("{format}, read by {parser}")
    return message.format(format=visible(str(name)), parser=visible(str(parser)))


def _calls_text(part: Body) -> str:
    most = part.get("max_calls_per_turn")
    if not most:
        return ""
    return _("up to {count}").format(count=most) if part.get("allowed") else _("one")


def _streams_text(part: Body) -> str:
    if "tools" not in part:
        return ""
    if part["tools"]:
        return _("text and tool turns")
    return _("text only; tool turns are fetched whole")


def _schemas_text(part: Body) -> str:
    code = str(part.get("level", ""))
    level = str(_SCHEMA_LEVELS.get(code, visible(code)))
    return _("{level}, simplified").format(level=level) if level and part.get("simplify") else level


def _invalid_calls_text(part: Body) -> str:
    if "repairs_allowed" not in part:
        return ""
    reasks = part.get("max_reasks", 0)
    if part["repairs_allowed"]:
        message = ngettext(
            "repaired, asked for again at most {count} time",
            "repaired, asked for again at most {count} times",
            reasks,
        )
        return message.format(count=reasks) if reasks else _("repaired, never asked for again")
    message = ngettext(
        "not repaired, asked for again at most {count} time",
        "not repaired, asked for again at most {count} times",
        reasks,
    )
    return message.format(count=reasks) if reasks else _("not repaired, never asked for again")


def _replay_text(part: Body) -> str:
    code = str(part.get("rule", ""))
    rule = str(_REPLAY_RULES.get(code, visible(code)))
    return _("{rule}, verbatim").format(rule=rule) if rule and part.get("verbatim") else rule
