"""Who may use an operation: a token with its scope, or, for reading, a signed-in person.

Every operation declares the right that it needs, and the scopes that allow it to a token. The right
is checked over the objects that the URL names; lists omit what the caller may not see.
"""

from __future__ import annotations

from collections.abc import Sequence

from django.conf import settings
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest
from ninja.security import HttpBearer
from ninja.security.base import AuthBase
from typing_extensions import override

from dashboard.api import idempotency, lookups
from dashboard.api.errors import CHALLENGE, ApiError, not_found_error
from dashboard.api.token_check import find_token
from dashboard.core import (
    account_requirements,
    actor_context,
    http,
    permissions,
    rate_limits,
    token_rights,
)
from dashboard.core.errors import Refused
from dashboard.core.permissions import Actor, Right
from dashboard.core.rate_limits import Rate, RateResult
from dashboard.models import ApiToken
from dashboard.models.people import Scope


class Token(HttpBearer):
    """An API token in the Authorization header, with one of the scopes of the operation."""

    def __init__(self, right: Right | None, *scopes: Scope) -> None:
        super().__init__()
        self.right = right
        self.scopes = scopes

    @override
    def authenticate(self, request: HttpRequest, token: str) -> ApiToken:
        try:
            api_token = find_token(token.strip())
        except Refused as exc:
            _count_failure(request)
            raise _auth_error(401, exc.message, 'error="invalid_token"') from exc
        _count_request(request, self.rate(), api_token)
        self._check_scope(api_token)
        _set_token_actor(request, api_token)
        if self.right is not None:
            _check_right(request, self.right, "Whoever made this API token")
        idempotency.claim_key(request, api_token)
        return api_token

    def rate(self) -> Rate:
        is_telemetry = Scope.TELEMETRY in self.scopes
        return rate_limits.telemetry_rate() if is_telemetry else rate_limits.request_rate()

    def _check_scope(self, token: ApiToken) -> None:
        if not set(self.scopes) & set(token.scopes):
            scopes = " or ".join(repr(scope.value) for scope in self.scopes)
            hint = f'error="insufficient_scope", scope="{self.scopes[0].value}"'
            raise _auth_error(403, f"This API token has not the scope {scopes}.", hint)


class Session(AuthBase):
    """The cookie of a signed-in person: enough to read, never to change anything."""

    openapi_type = "apiKey"
    openapi_in = "cookie"
    openapi_name = settings.SESSION_COOKIE_NAME

    def __init__(self, right: Right) -> None:
        super().__init__()
        self.right = right

    @override
    def __call__(self, request: HttpRequest) -> User | None:
        # If there is a token, it decides; a cookie must not replace a wrong one.
        if "Authorization" in request.headers or not isinstance(request.user, User):
            return None
        actor_context.identify_actor(person_id=request.user.pk, name=request.user.get_username())
        _check_requirements(request.user)
        _check_right(request, self.right, "You")
        return request.user


READ = [Token(Right.READ, Scope.READ), Session(Right.READ)]
PROBE = [Token(Right.PROBE, Scope.PROBE, Scope.OPERATE)]
OPERATE = [Token(Right.OPERATE, Scope.OPERATE)]
TIGHTEN = [Token(Right.TIGHTEN, Scope.OPERATE, Scope.DECIDE)]
DECIDE = [Token(Right.DECIDE, Scope.DECIDE)]
# What only administrators see and change.
READ_ADMIN = [Token(Right.ADMINISTER, Scope.READ), Session(Right.ADMINISTER)]
ADMINISTER = [Token(Right.ADMINISTER, Scope.DECIDE)]
# The operation checks whose token it is.
REVOKE = [Token(Right.READ, Scope.OPERATE, Scope.DECIDE)]
# The operation checks the endpoint of each event.
TELEMETRY = [Token(None, Scope.TELEMETRY)]


def request_token(request: HttpRequest) -> ApiToken:
    """The token of the caller, for operations that accept no session."""
    token = request.auth  # type: ignore[attr-defined]
    assert isinstance(token, ApiToken)
    return token


def token_owner(request: HttpRequest) -> User:
    """The person who created the token; refuses one that a command created for no person."""
    owner = request_token(request).created_by
    if owner is None:
        raise ApiError(403, "This needs a person: use a token that somebody has made.")
    return owner


def readable_teams(request: HttpRequest) -> frozenset[int] | None:
    """The teams whose endpoints a list may show; None is all endpoints."""
    return permissions.actor_of(request).teams(Right.READ)


def require_right(request: HttpRequest, right: Right, team_id: int | None) -> None:
    """Refuse unless the caller has a further right over an endpoint of that team."""
    if not permissions.actor_of(request).may(right, team_id):
        raise ApiError(403, f"This API token, or who made it, has not the right {right.value!r}.")


def operation_rights(callbacks: Sequence[object]) -> list[Right]:
    """The rights that an operation declares."""
    rights = [callback.right for callback in callbacks if isinstance(callback, Token | Session)]
    return list(dict.fromkeys(right for right in rights if right is not None))


def _count_request(request: HttpRequest, rate: Rate, token: ApiToken) -> None:
    rate_result = rate_limits.count_call(rate, token.prefix)
    request._rate_result = rate_result  # type: ignore[attr-defined]
    if not rate_result.is_allowed:
        raise _rate_error(rate_result, "This API token has asked too often")


def _count_failure(request: HttpRequest) -> None:
    """Count a wrong token against its address; valid tokens from there still work."""
    address = rate_limits.address_key(http.client_address(request))
    rate_result = rate_limits.count_call(rate_limits.failure_rate(), address)
    if not rate_result.is_allowed:
        raise _rate_error(rate_result, "Too many wrong API tokens came from this address")


def _rate_error(rate_result: RateResult, what: str) -> ApiError:
    message = f"{what}. Send it again in {rate_result.wait_s} s."
    return ApiError(429, message, headers=rate_result.headers())


def _set_token_actor(request: HttpRequest, token: ApiToken) -> None:
    permissions.set_actor(request, token_rights.token_actor(token))
    owner = token.created_by
    name = owner.get_username() if owner else f"token {token.name}"
    actor_context.identify_actor(
        token=token.prefix, name=name, person_id=owner.pk if owner else None
    )


def _check_requirements(person: User) -> None:
    """Refuse a session that pages would redirect to what its owner must set up first."""
    if account_requirements.must_change_password(person):
        message = "Change the printed password under /settings/password/ first."
        raise ApiError(403, message, code="password_change_required")
    if account_requirements.lacks_required_factor(person):
        message = "Your role needs a second factor. Set one up under /settings/security/ first."
        raise ApiError(403, message, code="second_factor_required")


def _check_right(request: HttpRequest, right: Right, who: str) -> None:
    actor: Actor = permissions.actor_of(request)
    try:
        permissions.check_right(actor, right, lookups.url_parameters(request))
    except Http404 as exc:
        raise not_found_error(lookups.url_object_name(request)) from exc
    except PermissionDenied as exc:
        raise ApiError(
            403, f"{who} may not do this: the right {right.value!r} is missing."
        ) from exc


def _auth_error(status: int, message: str, hint: str) -> ApiError:
    return ApiError(status, message, headers={"WWW-Authenticate": f"{CHALLENGE}, {hint}"})
