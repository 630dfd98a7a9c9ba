"""The person's own sessions: listing and ending them."""

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
def sessions_page(request: HttpRequest) -> HttpResponse:
    person, key = cast(User, request.user), request.session.session_key
    if request.method == "POST":
        count = sessions.end_all_sessions(
            person, except_key=key, reason="signed out everywhere else"
        )
        text = ngettext(
            "{count} other session has ended.", "{count} other sessions have ended.", count
        )
        messages.success(request, text.format(count=count))
        return redirect("sessions")
    live = PersonSession.objects.filter(person=person, expire_date__gt=timezone.now())
    ordered = sorted(live.order_by("-seen_at"), key=lambda session: session.pk != key)
    context = {
        "sessions": ordered,
        "here": key,
        "idle": durations.format_rough_duration(settings.SESSION_IDLE),
        "age": durations.format_rough_duration(settings.SESSION_AGE),
    }
    return render(request, "accounts/sessions.html", context)


@own
@require_POST
def end_session(request: HttpRequest, session_id: uuid.UUID) -> HttpResponse:
    if sessions.end_session(cast(User, request.user), session_id):
        messages.success(request, _("The session has ended."))
    else:
        messages.info(request, _("That session had ended already."))
    return redirect("sessions")
