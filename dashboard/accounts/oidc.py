"""Signing in by an OpenID Connect provider: allauth's walk, with stricter checks and our own door.

allauth keeps state and PKCE and fetches the tokens. On top of it an id_token counts only with a
good signature, our audience, the issuer that was set up and the nonce of this very session.
"""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Callable
from typing import Any

import jwt
import structlog
from allauth.core.exceptions import ImmediateHttpResponse
from allauth.socialaccount.adapter import DefaultSocialAccountAdapter
from allauth.socialaccount.models import SocialApp
from allauth.socialaccount.providers import registry
from allauth.socialaccount.providers.oauth2.client import OAuth2Error
from allauth.socialaccount.providers.oauth2.views import OAuth2CallbackView
from allauth.socialaccount.providers.openid_connect.provider import OpenIDConnectProvider
from allauth.socialaccount.providers.openid_connect.views import OpenIDConnectOAuth2Adapter
from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from typing_extensions import override

log = structlog.get_logger()

# Here and not as an app: nobody signs in at a worker, which then loads no further HTTP client.
registry.register(OpenIDConnectProvider)

# Never one that a public key could be mistaken for the secret of.
_ALGORITHMS = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "EdDSA"]
_MUST_SAY = ["aud", "exp", "iat", "iss", "sub"]
# What goes wrong out there: no answer, no JSON, not the fields that there should be.
_TROUBLES = (OSError, ValueError, KeyError, TypeError, AttributeError, jwt.PyJWTError, OAuth2Error)

# Given the subject, its claims, and what `begin` was told to remember.
Arrived = Callable[[str, dict[str, Any], dict[str, Any]], HttpResponse]


class Adapter(DefaultSocialAccountAdapter):  # type: ignore[misc]
    """One provider, from the settings; whoever comes back from it goes through our door."""

    @override
    def list_apps(self, request: Any, provider: Any = None, client_id: Any = None) -> list[Any]:
        return [_app()] if settings.OIDC_ON else []

    @override
    def get_requests_session(self) -> Any:
        # The address is an administrator's setting. No proxies of the environment, no redirects.
        session = super().get_requests_session()
        session.trust_env = False
        session.max_redirects = 0
        return session

    @override
    def pre_social_login(self, request: HttpRequest, sociallogin: Any) -> None:
        arrived: Arrived = request.oidc_arrived  # type: ignore[attr-defined]
        kept = (sociallogin.state or {}).get("data") or {}
        raise ImmediateHttpResponse(arrived(sociallogin.account.uid, sociallogin.claims, kept))

    @override
    def on_authentication_error(self, request: HttpRequest, provider: Any, **what: Any) -> None:
        log.warning("sign-in by provider failed", error=repr(what.get("exception")))
        raise ImmediateHttpResponse(request.oidc_failed())  # type: ignore[attr-defined]


class _Walk(OpenIDConnectOAuth2Adapter):  # type: ignore[misc]
    nonce = ""

    @override
    def get_callback_url(self, request: HttpRequest, app: Any) -> str:
        return request.build_absolute_uri(reverse("login-oidc-back"))

    @override
    def complete_login(self, request: HttpRequest, app: Any, token: Any, **given: Any) -> Any:
        claims = self._verified(given["response"]["id_token"])
        login = self.get_provider().sociallogin_from_response(request, {"id_token": claims})
        login.claims = claims
        login.account.extra_data = {}  # what else they say about somebody is not kept
        return login

    def _verified(self, id_token: str) -> dict[str, Any]:
        config = self.openid_config
        if str(config["issuer"]).rstrip("/") != settings.OIDC_ISSUER:
            raise OAuth2Error("the provider calls itself otherwise than OIDC_ISSUER")
        with Adapter().get_requests_session() as session:
            keys = jwt.PyJWKSet.from_dict(session.get(config["jwks_uri"]).json())
        claims: dict[str, Any] = jwt.decode(
            id_token,
            keys[jwt.get_unverified_header(id_token)["kid"]].key,
            algorithms=_ALGORITHMS,
            audience=settings.OIDC_CLIENT_ID,
            issuer=config["issuer"],
            options={"require": _MUST_SAY},
            leeway=30,
        )
        self._check(claims)
        return claims

    def _check(self, claims: dict[str, Any]) -> None:
        if not (self.nonce and hmac.compare_digest(str(claims.get("nonce", "")), self.nonce)):
            raise OAuth2Error("another session's nonce")
        if claims.get("azp", settings.OIDC_CLIENT_ID) != settings.OIDC_CLIENT_ID:
            raise OAuth2Error("made for another client")


class _Back(OAuth2CallbackView):  # type: ignore[misc]
    @override
    def _get_state(self, request: HttpRequest, provider: Any) -> Any:
        state, refusal = super()._get_state(request, provider)
        if state:
            self.adapter.nonce = (state.get("data") or {}).get("nonce", "")
        return state, refusal


def begin(
    request: HttpRequest, *, kept: dict[str, Any], again: bool, failed: Callable[[], HttpResponse]
) -> HttpResponse:
    """Send the browser to the provider; `again` has it ask even whoever is signed in there."""
    nonce = secrets.token_urlsafe(32)
    wishes = {"nonce": nonce, **({"prompt": "login"} if again else {})}
    try:
        provider = _walk(request).get_provider()
        provider.oauth2_adapter_class = _Walk
        answer = provider.redirect(
            request, process="login", data={**kept, "nonce": nonce}, auth_params=wishes
        )
    except _TROUBLES as exc:
        log.warning("provider does not answer", error=repr(exc))
        return failed()
    assert isinstance(answer, HttpResponse)
    return answer


def back(
    request: HttpRequest, *, arrived: Arrived, failed: Callable[[], HttpResponse]
) -> HttpResponse:
    """The browser is back: who it is, by `arrived`, unless anything about it is not right."""
    request.oidc_arrived, request.oidc_failed = arrived, failed  # type: ignore[attr-defined]
    try:
        answer = _Back.adapter_view(_walk(request))(request)
    except _TROUBLES as exc:
        log.warning("sign-in by provider failed", error=repr(exc))
        return failed()
    assert isinstance(answer, HttpResponse)
    return answer


def _walk(request: HttpRequest) -> _Walk:
    return _Walk(request, settings.OIDC_ISSUER)


def _app() -> SocialApp:
    return SocialApp(
        provider="openid_connect",
        provider_id=settings.OIDC_ISSUER,
        name=settings.OIDC_NAME[:40],
        client_id=settings.OIDC_CLIENT_ID,
        secret=settings.OIDC_CLIENT_SECRET,
        settings={"server_url": settings.OIDC_ISSUER, "oauth_pkce_enabled": True},
    )
