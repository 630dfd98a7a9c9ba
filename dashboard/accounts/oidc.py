"""Sign-in with an OpenID Connect provider: allauth's flow with stricter checks.

allauth handles state and PKCE and fetches the tokens. This module also requires of an id_token a
valid signature, our audience, the configured issuer and the nonce of this session.
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

# Here and not as an app: workers serve no sign-in, so they need not load another HTTP client.
registry.register(OpenIDConnectProvider)

# No HMAC: with it, a public key could pass as the shared secret.
_ALGORITHMS = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "EdDSA"]
_REQUIRED_CLAIMS = ["aud", "exp", "iat", "iss", "sub"]
# No answer, no JSON, or missing fields.
_PROVIDER_ERRORS = (
    OSError,
    ValueError,
    KeyError,
    TypeError,
    AttributeError,
    jwt.PyJWTError,
    OAuth2Error,
)

# Called with the subject, its claims, and the `state` that was passed to `begin_flow`.
OnLogin = Callable[[str, dict[str, Any], dict[str, Any]], HttpResponse]


class OidcAdapter(DefaultSocialAccountAdapter):  # type: ignore[misc]
    """One provider, from the settings; every login is passed to the callback of the request."""

    @override
    def list_apps(self, request: Any, provider: Any = None, client_id: Any = None) -> list[Any]:
        return [_app()] if settings.OIDC_ON else []

    @override
    def get_requests_session(self) -> Any:
        # An administrator set the URL. No proxies from the environment, no redirects.
        session = super().get_requests_session()
        session.trust_env = False
        session.max_redirects = 0
        return session

    @override
    def pre_social_login(self, request: HttpRequest, sociallogin: Any) -> None:
        on_login: OnLogin = request.oidc_on_login  # type: ignore[attr-defined]
        state = (sociallogin.state or {}).get("data") or {}
        raise ImmediateHttpResponse(on_login(sociallogin.account.uid, sociallogin.claims, state))

    @override
    def on_authentication_error(self, request: HttpRequest, provider: Any, **details: Any) -> None:
        log.warning("sign-in by provider failed", error=repr(details.get("exception")))
        raise ImmediateHttpResponse(request.oidc_on_failure())  # type: ignore[attr-defined]


class _ProviderAdapter(OpenIDConnectOAuth2Adapter):  # type: ignore[misc]
    nonce = ""

    @override
    def get_callback_url(self, request: HttpRequest, app: Any) -> str:
        return request.build_absolute_uri(reverse("login-oidc-back"))

    @override
    def complete_login(self, request: HttpRequest, app: Any, token: Any, **kwargs: Any) -> Any:
        claims = self._verify_id_token(kwargs["response"]["id_token"])
        login = self.get_provider().sociallogin_from_response(request, {"id_token": claims})
        login.claims = claims
        login.account.extra_data = {}  # other claims about the person are not stored
        return login

    def _verify_id_token(self, id_token: str) -> dict[str, Any]:
        provider_config = self.openid_config
        if str(provider_config["issuer"]).rstrip("/") != settings.OIDC_ISSUER:
            raise OAuth2Error("the provider calls itself otherwise than OIDC_ISSUER")
        with OidcAdapter().get_requests_session() as session:
            keys = jwt.PyJWKSet.from_dict(session.get(provider_config["jwks_uri"]).json())
        claims: dict[str, Any] = jwt.decode(
            id_token,
            keys[jwt.get_unverified_header(id_token)["kid"]].key,
            algorithms=_ALGORITHMS,
            audience=settings.OIDC_CLIENT_ID,
            issuer=provider_config["issuer"],
            options={"require": _REQUIRED_CLAIMS},
            leeway=30,
        )
        self._check_claims(claims)
        return claims

    def _check_claims(self, claims: dict[str, Any]) -> None:
        if not (self.nonce and hmac.compare_digest(str(claims.get("nonce", "")), self.nonce)):
            raise OAuth2Error("another session's nonce")
        if claims.get("azp", settings.OIDC_CLIENT_ID) != settings.OIDC_CLIENT_ID:
            raise OAuth2Error("made for another client")


class _CallbackView(OAuth2CallbackView):  # type: ignore[misc]
    @override
    def _get_state(self, request: HttpRequest, provider: Any) -> Any:
        state, refusal = super()._get_state(request, provider)
        if state:
            self.adapter.nonce = (state.get("data") or {}).get("nonce", "")
        return state, refusal


def begin_flow(
    request: HttpRequest,
    *,
    state: dict[str, Any],
    reauthenticate: bool,
    on_failure: Callable[[], HttpResponse],
) -> HttpResponse:
    """Redirect to the provider; with `reauthenticate` it asks for credentials again."""
    nonce = secrets.token_urlsafe(32)
    auth_params = {"nonce": nonce, **({"prompt": "login"} if reauthenticate else {})}
    try:
        provider = _provider_adapter(request).get_provider()
        provider.oauth2_adapter_class = _ProviderAdapter
        response = provider.redirect(
            request, process="login", data={**state, "nonce": nonce}, auth_params=auth_params
        )
    except _PROVIDER_ERRORS as exc:
        log.warning("provider does not answer", error=repr(exc))
        return on_failure()
    assert isinstance(response, HttpResponse)
    return response


def handle_callback(
    request: HttpRequest, *, on_login: OnLogin, on_failure: Callable[[], HttpResponse]
) -> HttpResponse:
    """Handle the redirect back from the provider: call `on_login` if all checks pass."""
    request.oidc_on_login, request.oidc_on_failure = on_login, on_failure  # type: ignore[attr-defined]
    try:
        response = _CallbackView.adapter_view(_provider_adapter(request))(request)
    except _PROVIDER_ERRORS as exc:
        log.warning("sign-in by provider failed", error=repr(exc))
        return on_failure()
    assert isinstance(response, HttpResponse)
    return response


def _provider_adapter(request: HttpRequest) -> _ProviderAdapter:
    return _ProviderAdapter(request, settings.OIDC_ISSUER)


def _app() -> SocialApp:
    return SocialApp(
        provider="openid_connect",
        provider_id=settings.OIDC_ISSUER,
        name=settings.OIDC_NAME[:40],
        client_id=settings.OIDC_CLIENT_ID,
        secret=settings.OIDC_CLIENT_SECRET,
        settings={"server_url": settings.OIDC_ISSUER, "oauth_pkce_enabled": True},
    )
