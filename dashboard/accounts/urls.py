from __future__ import annotations

from django.urls import path

from dashboard.accounts.views import (
    oidc,
    preferences,
    reauthentication,
    second_factor,
    sessions,
    sign_in,
)

urlpatterns = [
    path("settings/password/", preferences.change_password, name="password"),
    path("settings/security/", second_factor.security_page, name="security"),
    path("settings/security/app/", second_factor.set_up_app, name="security-app"),
    path("settings/security/passkeys/new/", second_factor.add_passkey, name="security-passkey-new"),
    path(
        "settings/security/<int:factor_id>/remove/",
        second_factor.remove_factor,
        name="security-remove",
    ),
    path("settings/security/codes/", second_factor.renew_recovery_codes, name="security-codes"),
    path("settings/security/link/", oidc.link_account, name="security-link"),
    path("settings/security/unlink/", oidc.unlink_account, name="security-unlink"),
    path("settings/sessions/", sessions.sessions_page, name="sessions"),
    path("settings/sessions/<uuid:session_id>/end/", sessions.end_session, name="session-end"),
    path("language/", preferences.change_language, name="language"),
    path("login/", sign_in.sign_in_page, name="login"),
    path("login/code/", sign_in.code_page, name="login-code"),
    path("login/passkey/", sign_in.sign_in_with_passkey, name="login-passkey"),
    path("login/passkey/options/", sign_in.passkey_options, name="passkey-options"),
    path("login/oidc/", oidc.begin_sign_in, name="login-oidc"),
    path("login/oidc/back/", oidc.callback, name="login-oidc-back"),
    path("logout/", sign_in.sign_out, name="logout"),
    path("confirm/", reauthentication.confirm_page, name="confirm"),
]
