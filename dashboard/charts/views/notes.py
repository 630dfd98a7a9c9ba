"""The notes beside the charts: list, add, remove."""

from __future__ import annotations

from typing import Any, cast

from django import forms
from django.contrib import messages
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods, require_POST
from django_htmx.http import trigger_client_event

from dashboard.charts import services as service
from dashboard.core.errors import Refused
from dashboard.core.permissions import Right, needs
from dashboard.models import Endpoint, Note

SHOWN_NOTES = 20


class NoteForm(forms.Form):
    text = forms.CharField(
        label=gettext_lazy("What happened"),
        max_length=service.MAX_TEXT_LENGTH,
        widget=forms.TextInput({"autocomplete": "off"}),
        error_messages={"required": gettext_lazy("Write what happened.")},
    )
    at = forms.DateTimeField(
        label=gettext_lazy("When (UTC)"),
        required=False,
        widget=forms.DateTimeInput({"type": "datetime-local"}, format="%Y-%m-%dT%H:%M"),
        help_text=gettext_lazy("Left empty, it is now."),
        error_messages={"invalid": gettext_lazy("Write the time like 2026-11-03T12:00.")},
    )
    link = forms.CharField(
        label=gettext_lazy("Link"),
        required=False,
        max_length=service.MAX_LINK_LENGTH,
        widget=forms.URLInput(
            {"autocomplete": "off", "placeholder": "https://", "translate": "no"}
        ),
    )


@needs(Right.READ, change=Right.OPERATE)
@require_http_methods(["GET", "HEAD", "POST"])
def notes_part(request: HttpRequest, slug: str) -> HttpResponse:
    endpoint = get_object_or_404(Endpoint.objects.kept(), slug=slug)
    if request.method != "POST":
        return render(request, "charts/_notes.html", notes_context(endpoint))
    form = NoteForm(request.POST, auto_id="note_%s")
    if not form.is_valid():
        return _notes_response(request, endpoint, refusal=_first_error(form), form=form)
    try:
        service.add_note(endpoint, by=cast(User, request.user), **form.cleaned_data)
    except Refused as exc:
        return _notes_response(request, endpoint, refusal=exc.message, form=form)
    return _notes_response(request, endpoint, done=_("The note is in the charts."))


@needs(Right.OPERATE)
@require_POST
def remove_note(request: HttpRequest, slug: str, note_id: int) -> HttpResponse:
    endpoint = get_object_or_404(Endpoint.objects.kept(), slug=slug)
    note = get_object_or_404(Note, pk=note_id, endpoint=endpoint)
    try:
        was_there = service.remove_note(note, by=cast(User, request.user))
    except Refused as exc:
        return _notes_response(request, endpoint, refusal=exc.message)
    if not was_there:
        return _notes_response(
            request, endpoint, refusal=_("Somebody has removed that note already.")
        )
    return _notes_response(request, endpoint, done=_("The note is removed."))


def notes_context(endpoint: Endpoint) -> dict[str, Any]:
    """The template context of the notes card."""
    newest = Note.objects.kept().filter(endpoint=endpoint).select_related("author").newest_first()
    notes = list(newest[: SHOWN_NOTES + 1])
    return {
        "endpoint": endpoint,
        "notes": notes[:SHOWN_NOTES],
        "more_notes": len(notes) > SHOWN_NOTES,
        "shown_notes": SHOWN_NOTES,
        "note_form": NoteForm(auto_id="note_%s"),
    }


def _first_error(form: NoteForm) -> str:
    return next(str(error) for errors in form.errors.values() for error in errors)


def _notes_response(
    request: HttpRequest,
    endpoint: Endpoint,
    *,
    done: str = "",
    refusal: str = "",
    form: NoteForm | None = None,
) -> HttpResponse:
    """The updated card; without scripts, a redirect to its page with a message."""
    if not request.headers.get("HX-Request"):
        messages.add_message(request, messages.SUCCESS if done else messages.ERROR, done or refusal)
        return redirect(f"{endpoint.get_absolute_url()}#notes")
    context = {**notes_context(endpoint), "note_done": done, "note_refusal": refusal}
    if form:
        context["note_form"] = form
    response = render(request, "charts/_notes.html", context)
    return trigger_client_event(response, "notes-changed") if done else response
