"""Who may use an operation: a token with its scope, or, for reading, a signed-in person."""

from __future__ import annotations

from django.conf import settings
from django.contrib.auth.models import User
from django.http import HttpRequest
from ninja.security import HttpBearer
from ninja.security.base import AuthBase
from typing_extensions import override

from dashboard.api.errors import CHALLENGE, ApiError
from dashboard.errors import Refused
from dashboard.models import ApiToken
from dashboard.models.api_token import Scope
from dashboard.services import tokens


class Token(HttpBearer):
    """An API token in the Authorization header, with the scope that the operation needs."""

    def __init__(self, scope: Scope) -> None:
        super().__init__()
        self.scope = scope

    @override
    def authenticate(self, request: HttpRequest, token: str) -> ApiToken:
        try:
            found = tokens.find(token.strip())
        except Refused as exc:
            raise _refusal(401, exc.message, 'error="invalid_token"') from exc
        if self.scope not in found.scopes:
            message = f"This API token has not the scope {self.scope.value!r}."
            hint = f'error="insufficient_scope", scope="{self.scope.value}"'
            raise _refusal(403, message, hint)
        return found


class Session(AuthBase):
    """The cookie of a signed-in person: enough to read, never to change anything."""

    openapi_type = "apiKey"
    openapi_in = "cookie"
    openapi_name = settings.SESSION_COOKIE_NAME

    @override
    def __call__(self, request: HttpRequest) -> User | None:
        # Whoever shows a token means it; a cookie must not stand in for a wrong one.
        if "Authorization" in request.headers:
            return None
        return request.user if isinstance(request.user, User) else None


READ = [Token(Scope.READ), Session()]
PROBE = [Token(Scope.PROBE)]
WRITE = [Token(Scope.WRITE)]
TELEMETRY = [Token(Scope.TELEMETRY)]


def token_of(request: HttpRequest) -> ApiToken:
    """The token that an operation without sessions was called with."""
    token = request.auth  # type: ignore[attr-defined]
    assert isinstance(token, ApiToken)
    return token


def _refusal(status: int, message: str, hint: str) -> ApiError:
    return ApiError(status, message, headers={"WWW-Authenticate": f"{CHALLENGE}, {hint}"})
