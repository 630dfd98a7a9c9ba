"""One's own sessions: where one is signed in, and ending that."""

from __future__ import annotations

import uuid
from typing import cast

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from dashboard.accounts.services import sessions
from dashboard.core import durations
from dashboard.core.permissions import own
from dashboard.models import PersonSession


@own
@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
def page(request: HttpRequest) -> HttpResponse:
    person, key = cast(User, request.user), request.session.session_key
    if request.method == "POST":
        count = sessions.end_all(person, but=key, reason="signed out everywhere else")
        told = ngettext(
            "{count} other session has ended.", "{count} other sessions have ended.", count
        )
        messages.success(request, told.format(count=count))
        return redirect("sessions")
    living = PersonSession.objects.filter(person=person, expire_date__gt=timezone.now())
    listed = sorted(living.order_by("-seen_at"), key=lambda each: each.pk != key)
    context = {
        "sessions": listed,
        "here": key,
        "idle": durations.format_rough_duration(settings.SESSION_IDLE),
        "age": durations.format_rough_duration(settings.SESSION_AGE),
    }
    return render(request, "accounts/sessions.html", context)


@own
@require_POST
def end(request: HttpRequest, session_id: uuid.UUID) -> HttpResponse:
    if sessions.end(cast(User, request.user), session_id):
        messages.success(request, _("The session has ended."))
    else:
        messages.info(request, _("That session had ended already."))
    return redirect("sessions")
