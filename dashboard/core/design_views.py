"""The design page: every component in all its states, with the markup to copy."""

from __future__ import annotations

from dataclasses import dataclass

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.template.loader import get_template
from django.views.decorators.http import require_POST, require_safe

from dashboard.core.http import add_toast
from dashboard.core.permissions import own
from health.status import Status

# One file per part in templates/design/, in the order of the page.
PARTS = (
    "colours",
    "type",
    "buttons",
    "status",
    "tags",
    "cards",
    "facts",
    "tables",
    "segments",
    "forms",
    "messages",
    "toasts",
    "dialogs",
    "hints",
    "progress",
    "skeletons",
    "empty",
    "copying",
)


@dataclass(frozen=True, slots=True)
class DesignPart:
    name: str
    template: str
    source: str


@own
@require_safe
def design_page(request: HttpRequest) -> HttpResponse:
    _only_in_development()
    context = {"parts": [_load_part(name) for name in PARTS], "statuses": list(Status)}
    return render(request, "design/page.html", context)


@own
@require_POST
def show_toast(request: HttpRequest) -> HttpResponse:
    """A toast of the requested level, as any action would send it."""
    _only_in_development()
    level = request.POST.get("level", "")
    level = level if level in {"success", "warning", "error"} else "info"
    return add_toast(HttpResponse(status=204), f"This is what {level} looks like.", level=level)


def _only_in_development() -> None:
    if not settings.DEBUG:
        raise Http404


def _load_part(name: str) -> DesignPart:
    template = f"design/{name}.html"
    # The engine keeps the source it compiled, so the page shows what it renders.
    source: str = get_template(template).template.source  # type: ignore[attr-defined]
    return DesignPart(name, template, source.strip())
