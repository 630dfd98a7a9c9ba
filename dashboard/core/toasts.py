"""A message that comes with the answer to an action, shown above the page until it was read."""

from __future__ import annotations

from django.http import HttpResponse
from django_htmx.http import trigger_client_event


def toast(response: HttpResponse, text: str, *, level: str = "success") -> HttpResponse:
    """The answer with a message for static/js/toasts.js; levels are those of Django's messages."""
    return trigger_client_event(response, "toast", {"text": text, "level": level})
