"""The settings pages of people, for administrators."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.contrib import messages
from django.contrib.auth.models import User
from django.core.paginator import Paginator
from django.db.models import Prefetch, Q, QuerySet
from django.db.models.functions import Now
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from dashboard.accounts.reauthentication import require_reauthentication
from dashboard.accounts.services import second_factor, sign_in
from dashboard.core.errors import Refused
from dashboard.core.permissions import Right, needs
from dashboard.models import Grant, Invitation
from dashboard.people import text as role_text
from dashboard.people.forms import GrantForm, InviteForm, OptionalReasonForm, form_reason
from dashboard.people.services import people, roles
from dashboard.people.services.invitations import InvitationLink
from dashboard.people.views.invitations import link_url

PAGE_SIZE = 100


@needs(Right.ADMINISTER)
@require_reauthentication
@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
def people_page(request: HttpRequest) -> HttpResponse:
    form = InviteForm(request.POST or None)
    link = None
    if request.method == "POST" and form.is_valid():
        data = form.cleaned_data
        try:
            link = people.invite_person(
                username=data["username"],
                email=data["email"],
                rights=form.rights(),
                by=_current_person(request),
            )
            form = InviteForm()
        except Refused as exc:
            form.add_error("username", exc.message)
    # Rendered in the response to the POST, not after a redirect: the link is shown nowhere else.
    context = {
        "form": form,
        "role_descriptions": role_text.ROLE_DESCRIPTIONS,
        **_link_context(link),
    }
    return render(request, "people/people.html", {**context, **_list_context(request)})


@needs(Right.ADMINISTER)
@require_safe
@never_cache
def person_page(request: HttpRequest, person_id: int) -> HttpResponse:
    return _render_person(request, person_id)


@needs(Right.ADMINISTER)
@require_reauthentication
@require_POST
@never_cache
def reset_password(request: HttpRequest, person_id: int) -> HttpResponse:
    return _create_link(request, person_id, people.create_password_link)


@needs(Right.ADMINISTER)
@require_reauthentication
@require_POST
@never_cache
def reactivate_person(request: HttpRequest, person_id: int) -> HttpResponse:
    return _create_link(request, person_id, people.reactivate_person)


@needs(Right.ADMINISTER)
@require_reauthentication
@require_POST
def deactivate_person(request: HttpRequest, person_id: int) -> HttpResponse:
    text = _("{name} can no longer sign in; their sessions have ended.")
    return _end_access(request, person_id, people.deactivate_person, text)


@needs(Right.ADMINISTER)
@require_reauthentication
@require_POST
def withdraw_invitation(request: HttpRequest, person_id: int) -> HttpResponse:
    text = _("The invitation of {name} is withdrawn; the link opens nothing any more.")
    return _end_access(request, person_id, people.withdraw_invitation, text)


@needs(Right.ADMINISTER)
@require_reauthentication
@require_POST
def set_administrator(request: HttpRequest, person_id: int) -> HttpResponse:
    person = get_object_or_404(User, pk=person_id)
    administrator = request.POST.get("administrator") == "yes"
    reason = form_reason(OptionalReasonForm(request.POST))
    try:
        roles.set_administrator(
            person, administrator=administrator, by=_current_person(request), reason=reason
        )
    except Refused as exc:
        messages.error(request, exc.message)
    else:
        text = (
            _("{name} is an administrator now.")
            if administrator
            else _("{name} is no administrator.")
        )
        messages.success(request, text.format(name=person.username))
    return redirect("person", person.pk)


@needs(Right.ADMINISTER)
@require_reauthentication
@require_POST
@never_cache
def give_role(request: HttpRequest, person_id: int) -> HttpResponse:
    person = get_object_or_404(User, pk=person_id)
    form = GrantForm(request.POST)
    if not form.is_valid():
        return _render_person(request, person_id, form=form)
    try:
        roles.give_role(person, by=_current_person(request), **form.cleaned_data)
    except Refused as exc:
        messages.error(request, exc.message)
    else:
        text = _("{name} has the role from now on.").format(name=person.username)
        messages.success(request, text)
    return redirect("person", person.pk)


@needs(Right.ADMINISTER)
@require_reauthentication
@require_http_methods(["GET", "HEAD", "POST"])
def take_role(request: HttpRequest, person_id: int, grant_id: int) -> HttpResponse:
    grants = Grant.objects.select_related("person", "team")
    grant = get_object_or_404(grants, pk=grant_id, person=person_id)
    if request.method == "POST":
        reason = form_reason(OptionalReasonForm(request.POST))
        try:
            roles.take_role(grant, by=_current_person(request), reason=reason)
        except Refused as exc:
            messages.error(request, exc.message)
        else:
            text = _("{name} has lost the role.").format(name=grant.person.username)
            messages.success(request, text)
        return redirect("person", person_id)
    return render(
        request, "people/grant_remove.html", {"grant": grant, "form": OptionalReasonForm()}
    )


def _create_link(
    request: HttpRequest, person_id: int, create: Callable[..., InvitationLink]
) -> HttpResponse:
    person = get_object_or_404(User, pk=person_id)
    try:
        link = create(person, by=_current_person(request))
    except Refused as exc:
        messages.error(request, exc.message)
        return redirect("person", person.pk)
    return _render_person(request, person_id, **_link_context(link))


def _end_access(
    request: HttpRequest, person_id: int, end: Callable[..., Any], text: str
) -> HttpResponse:
    person = get_object_or_404(User, pk=person_id)
    try:
        end(
            person,
            by=_current_person(request),
            reason=form_reason(OptionalReasonForm(request.POST)),
        )
    except Refused as exc:
        messages.error(request, exc.message)
        return redirect("person", person_id)
    messages.success(request, text.format(name=person.username))
    return redirect("people")


def _link_context(link: InvitationLink | None) -> dict[str, Any]:
    return {"link": link, "address": link_url(link)} if link else {}


def _people_with_roles() -> QuerySet[User]:
    grants = Grant.objects.select_related("team").order_by("team__name", "role")
    links = Invitation.objects.open()
    return User.objects.prefetch_related(Prefetch("grants", grants), Prefetch("invitations", links))


def _list_context(request: HttpRequest) -> dict[str, Any]:
    q = request.GET.get("q", "").replace("\0", "").strip()
    people = _people_with_roles().order_by("-is_active", "username")
    if q:
        is_named = Q(username__icontains=q) | Q(email__icontains=q)
        people = people.filter(is_named | Q(grants__team__name__icontains=q)).distinct()
    page = Paginator(people, PAGE_SIZE).get_page(request.GET.get("page"))
    return {"page": page, "q": q, "now": timezone.now()}


def _render_person(request: HttpRequest, person_id: int, **more: Any) -> HttpResponse:
    person = get_object_or_404(_people_with_roles(), pk=person_id)
    not_expired = Q(expires_at=None) | Q(expires_at__gt=Now())
    tokens = person.apitoken_set.filter(not_expired, revoked_at=None).count()
    context = {
        "person": person,
        "live_tokens": tokens,
        "form": GrantForm(),
        "role_descriptions": role_text.ROLE_DESCRIPTIONS,
        "now": timezone.now(),
    }
    return render(request, "people/person.html", {**context, **more})


def _current_person(request: HttpRequest) -> User:
    assert isinstance(request.user, User)
    return request.user


@needs(Right.ADMINISTER)
@require_reauthentication
@require_POST
def unlock_person(request: HttpRequest, person_id: int) -> HttpResponse:
    person = get_object_or_404(User, pk=person_id)
    sign_in.unlock(person)
    text = _("{name} can try to sign in again at once.").format(name=person.username)
    messages.success(request, text)
    return redirect("person", person.pk)


@needs(Right.ADMINISTER)
@require_reauthentication
@require_POST
def reset_second_factor(request: HttpRequest, person_id: int) -> HttpResponse:
    person = get_object_or_404(User, pk=person_id)
    if second_factor.reset_factors(person):
        text = _("{name} signs in with the password alone now, and can set up a new second factor.")
        messages.success(request, text.format(name=person.username))
    else:
        messages.info(request, _("{name} has no second factor.").format(name=person.username))
    return redirect("person", person.pk)
