"""The settings pages of people, for administrators."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.contrib import messages
from django.contrib.auth.models import User
from django.core.paginator import Paginator
from django.db.models import Q
from django.db.models.functions import Now
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from dashboard.access import Right, needs
from dashboard.errors import Refused
from dashboard.services import people
from dashboard.services.people import Admitted
from dashboard.views.person_form import PersonForm

PAGE = 100


@needs(Right.ADMINISTER)
@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
def page(request: HttpRequest) -> HttpResponse:
    form = PersonForm(request.POST or None)
    admitted = None
    if request.method == "POST" and form.is_valid():
        try:
            admitted = people.add(**form.cleaned_data)
            form = PersonForm()
        except Refused as exc:
            form.add_error("username", exc.message)
    # The answer to the post itself, not a redirect: the password is shown nowhere else.
    everybody = User.objects.order_by("-is_active", "username")
    shown = Paginator(everybody, PAGE).get_page(request.GET.get("page"))
    context = {"form": form, "admitted": admitted, "page": shown}
    return render(request, "dashboard/people.html", context)


@needs(Right.ADMINISTER)
@require_safe
@never_cache
def person(request: HttpRequest, person_id: int) -> HttpResponse:
    return _page_of(request, get_object_or_404(User, pk=person_id))


@needs(Right.ADMINISTER)
@require_POST
@never_cache
def reset_password(request: HttpRequest, person_id: int) -> HttpResponse:
    return _admit(request, person_id, people.reset_password)


@needs(Right.ADMINISTER)
@require_POST
@never_cache
def reactivate(request: HttpRequest, person_id: int) -> HttpResponse:
    return _admit(request, person_id, people.reactivate)


@needs(Right.ADMINISTER)
@require_POST
def deactivate(request: HttpRequest, person_id: int) -> HttpResponse:
    found = get_object_or_404(User, pk=person_id)
    assert isinstance(request.user, User)
    try:
        people.deactivate(found, by=request.user)
    except Refused as exc:
        messages.error(request, exc.message)
        return redirect("person", found.pk)
    told = _("{name} can no longer sign in; their sessions have ended.")
    messages.success(request, told.format(name=found.username))
    return redirect("people")


@needs(Right.ADMINISTER)
@require_POST
def role(request: HttpRequest, person_id: int) -> HttpResponse:
    found = get_object_or_404(User, pk=person_id)
    assert isinstance(request.user, User)
    wanted = request.POST.get("administrator") == "yes"
    try:
        people.set_administrator(found, administrator=wanted, by=request.user)
    except Refused as exc:
        messages.error(request, exc.message)
    else:
        told = _("{name} is an administrator now.") if wanted else _("{name} is no administrator.")
        messages.success(request, told.format(name=found.username))
    return redirect("person", found.pk)


def _admit(request: HttpRequest, person_id: int, admit: Callable[[User], Admitted]) -> HttpResponse:
    found = get_object_or_404(User, pk=person_id)
    try:
        admitted = admit(found)
    except Refused as exc:
        messages.error(request, exc.message)
        return redirect("person", found.pk)
    return _page_of(request, admitted.person, admitted=admitted)


def _page_of(request: HttpRequest, found: User, **more: Any) -> HttpResponse:
    ends_later = Q(expires_at=None) | Q(expires_at__gt=Now())
    tokens = found.apitoken_set.filter(ends_later, revoked_at=None).count()
    context = {"person": found, "living_tokens": tokens, **more}
    return render(request, "dashboard/person.html", context)
