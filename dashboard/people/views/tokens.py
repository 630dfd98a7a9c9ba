"""The settings page of API tokens: the person's own; all of them for administrators."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from dashboard.accounts.reauthentication import require_reauthentication
from dashboard.core.errors import Refused
from dashboard.core.permissions import own
from dashboard.models import ApiToken
from dashboard.people.forms import TokenForm
from dashboard.people.services import tokens
from dashboard.people.services.tokens import IssuedToken


@own
@require_reauthentication
@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
def tokens_page(request: HttpRequest) -> HttpResponse:
    person = _current_person(request)
    form = TokenForm(request.POST or None, person=person)
    issued = _issue_token(form, person) if request.method == "POST" and form.is_valid() else None
    # Rendered in the response to the POST, not after a redirect: the text is stored nowhere.
    context = {
        "form": TokenForm(person=person) if issued else form,
        "issued": issued,
        "tokens": _visible_tokens(person),
        "now": timezone.now(),
    }
    return render(request, "people/tokens.html", context)


@own
@require_reauthentication
@require_http_methods(["GET", "HEAD", "POST"])
def revoke_token(request: HttpRequest, prefix: str) -> HttpResponse:
    token = get_object_or_404(_visible_tokens(_current_person(request)), prefix=prefix)
    if request.method == "POST":
        if tokens.revoke_token(token):
            text = _("{name} is revoked. It opens nothing any more.").format(name=token.name)
            messages.success(request, text)
        return redirect("tokens")
    return render(request, "people/token_revoke.html", {"token": token})


def _issue_token(form: TokenForm, person: User) -> IssuedToken | None:
    try:
        return tokens.issue_token(by=person, **form.cleaned_data)
    except Refused as exc:
        form.add_error("scopes", exc.message)
        return None


def _visible_tokens(person: User) -> Any:
    tokens = ApiToken.objects.seen_by(person).select_related("created_by", "team")
    return tokens.newest_first()


def _current_person(request: HttpRequest) -> User:
    assert isinstance(request.user, User)
    return request.user
