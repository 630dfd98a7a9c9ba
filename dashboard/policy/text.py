"""A policy in words: what a caller gets, line by line."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext, pgettext

from dashboard.core.labels import RISKS, code_label
from dashboard.core.safe_text import visible

Body = Mapping[str, Any]

_LEVELS = {
    "none": gettext_lazy("none"),
    "string_only": gettext_lazy("strings only"),
    "simple_object": gettext_lazy("simple objects"),
    "strict_json_schema": gettext_lazy("whole JSON Schema"),
}
_RULES = {
    "none": gettext_lazy("not sent back"),
    "same_turn": gettext_lazy("sent back within the same turn"),
    "all_turns": gettext_lazy("sent back for all turns"),
    "signature": gettext_lazy("sent back with its signature"),
    "item_pair": gettext_lazy("sent back beside the call it belongs to"),
    "behavioural": gettext_lazy("sent back where the answers become worse without it"),
}


def lines(body: Body) -> list[tuple[str, str]]:
    """Names with what holds; a part that a policy does not have is left out."""
    replay = (_("Reasoning"), _replay(body.get("replay", {})))
    if body.get("risk", {}).get("allowed") == []:
        return [(_("Tools"), pgettext("tools", "none")), replay]
    said = [
        (_("Tools"), _tools(body)),
        (_("Calls arrive as"), _format(body.get("tool_call", {}))),
        (_("Calls a turn"), _calls(body.get("parallel", {}))),
        (_("Streams"), _streams(body.get("streaming", {}))),
        (_("Schemas"), _schemas(body.get("schema", {}))),
        (_("Calls that do not fit"), _misfits(body.get("validation", {}))),
        replay,
    ]
    return [(name, words) for name, words in said if words]


def trust(body: Body) -> str:
    """What the endpoint may be trusted with now, in one sentence."""
    allowed = body.get("risk", {}).get("allowed")
    if not allowed:
        return _("Callers get no tools now.")
    if set(allowed) == {"read"}:
        return _("Callers may use tools that read, and no others.")
    if set(allowed) == {"read", "write"}:
        return _("Callers may use tools that read or write.")
    return _("Callers may use every tool.")


def _tools(body: Body) -> str:
    allowed = body.get("risk", {}).get("allowed")
    if allowed is None:
        return ""
    return _("only those of risk {risks}").format(
        risks=", ".join(code_label(risk, RISKS) for risk in allowed)
    )


def _format(part: Body) -> str:
    name, parser = part.get("format"), part.get("parser")
    if not name or name == "none":
        return ""
    if not parser:
        return visible(str(name))
    said = _("{format}, read by {parser}")
    return said.format(format=visible(str(name)), parser=visible(str(parser)))


def _calls(part: Body) -> str:
    most = part.get("max_calls_per_turn")
    if not most:
        return ""
    return _("up to {count}").format(count=most) if part.get("allowed") else _("one")


def _streams(part: Body) -> str:
    if "tools" not in part:
        return ""
    if part["tools"]:
        return _("text and tool turns")
    return _("text only; tool turns are fetched whole")


def _schemas(part: Body) -> str:
    code = str(part.get("level", ""))
    level = str(_LEVELS.get(code, visible(code)))
    return _("{level}, simplified").format(level=level) if level and part.get("simplify") else level


def _misfits(part: Body) -> str:
    if "repairs_allowed" not in part:
        return ""
    asked = part.get("max_reasks", 0)
    if part["repairs_allowed"]:
        said = ngettext(
            "repaired, asked for again at most {count} time",
            "repaired, asked for again at most {count} times",
            asked,
        )
        return said.format(count=asked) if asked else _("repaired, never asked for again")
    said = ngettext(
        "not repaired, asked for again at most {count} time",
        "not repaired, asked for again at most {count} times",
        asked,
    )
    return said.format(count=asked) if asked else _("not repaired, never asked for again")


def _replay(part: Body) -> str:
    code = str(part.get("rule", ""))
    rule = str(_RULES.get(code, visible(code)))
    return _("{rule}, verbatim").format(rule=rule) if rule and part.get("verbatim") else rule
