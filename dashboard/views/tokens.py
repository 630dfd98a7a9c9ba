"""The settings page of API tokens, for administrators."""

from __future__ import annotations

from django.contrib import messages
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from dashboard.access import Right, needs
from dashboard.models import ApiToken
from dashboard.services import tokens
from dashboard.views.token_form import TokenForm


@needs(Right.ADMINISTER)
@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
def page(request: HttpRequest) -> HttpResponse:
    form = TokenForm(request.POST or None)
    made = None
    if request.method == "POST" and form.is_valid():
        assert isinstance(request.user, User)
        made = tokens.issue(by=request.user, **form.cleaned_data)
        form = TokenForm()
    # The answer to the post itself, not a redirect: the text exists nowhere else.
    listed = ApiToken.objects.select_related("created_by").newest_first()
    context = {"form": form, "made": made, "tokens": listed, "now": timezone.now()}
    return render(request, "dashboard/tokens.html", context)


@needs(Right.ADMINISTER)
@require_http_methods(["GET", "HEAD", "POST"])
def revoke(request: HttpRequest, prefix: str) -> HttpResponse:
    token = get_object_or_404(ApiToken, prefix=prefix)
    if request.method == "POST":
        if tokens.revoke(token):
            told = _("{name} is revoked. It opens nothing any more.").format(name=token.name)
            messages.success(request, told)
        return redirect("tokens")
    return render(request, "dashboard/token_revoke.html", {"token": token})
