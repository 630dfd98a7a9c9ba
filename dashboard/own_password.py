"""A password that a machine drew and printed is changed before anything else is done with it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponseBase
from django.shortcuts import redirect
from django.urls import reverse
from django_htmx.http import HttpResponseClientRedirect

from dashboard.core import permissions
from dashboard.people.services import people

# What stays open until then; programs come with tokens, to views that are public.
OPEN = frozenset({"password", "logout"})
Next = Callable[[HttpRequest], HttpResponseBase]


class OwnPasswordFirst:
    def __init__(self, get_response: Next) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        return self.get_response(request)

    def process_view(
        self,
        request: HttpRequest,
        view: Callable[..., Any],
        args: Sequence[Any],
        named: Mapping[str, Any],
    ) -> HttpResponseBase | None:
        declared = permissions.declared_rights(view)
        match = request.resolver_match
        if declared is None or declared.is_public or (match and match.url_name in OPEN):
            return None
        if not isinstance(request.user, User) or not people.must_change_password(request.user):
            return None
        to = reverse("password")
        return HttpResponseClientRedirect(to) if "HX-Request" in request.headers else redirect(to)
