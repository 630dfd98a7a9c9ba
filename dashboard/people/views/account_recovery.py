"""What administrators do for somebody who cannot get in."""

from __future__ import annotations

from django.contrib import messages
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from dashboard.accounts.reauthentication import fresh
from dashboard.accounts.services import second_factor, sign_in
from dashboard.core.permissions import Right, needs


@needs(Right.ADMINISTER)
@fresh
@require_POST
def unlock_person(request: HttpRequest, person_id: int) -> HttpResponse:
    person = get_object_or_404(User, pk=person_id)
    sign_in.unlock(person)
    told = _("{name} can try to sign in again at once.").format(name=person.username)
    messages.success(request, told)
    return redirect("person", person.pk)


@needs(Right.ADMINISTER)
@fresh
@require_POST
def reset_second_factor(request: HttpRequest, person_id: int) -> HttpResponse:
    person = get_object_or_404(User, pk=person_id)
    if second_factor.reset(person):
        told = _("{name} signs in with the password alone now, and can set up a new second factor.")
        messages.success(request, told.format(name=person.username))
    else:
        messages.info(request, _("{name} has no second factor.").format(name=person.username))
    return redirect("person", person.pk)
