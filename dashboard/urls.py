"""Every page and every part of one."""

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
from dashboard.audit import urls as audit
from dashboard.charts import urls as charts
from dashboard.compare import views as compare
from dashboard.core import urls as core
from dashboard.demo import urls as demo
from dashboard.endpoints.views import endpoints, import_file, ollama_discovery, try_out
from dashboard.fleet import urls as fleet
from dashboard.incidents import views as incidents
from dashboard.notifications import urls as notifications
from dashboard.people import urls as people
from dashboard.policy.views import modes, tool_rules
from dashboard.rollouts.views import gates, rollouts
from dashboard.runs.views import attempts, reprobe, runs
from dashboard.system import urls as system

urlpatterns = [
    *fleet.urlpatterns,
    *charts.urlpatterns,
    path("endpoints/new/", endpoints.new, name="endpoint-new"),
    path("endpoints/new/try/", try_out.new, name="endpoint-new-try"),
    path("first-run/nearby/", ollama_discovery.part, name="nearby"),
    path("endpoints/<slug:slug>/", endpoints.page, name="endpoint"),
    path("endpoints/<slug:slug>/edit/", endpoints.edit, name="endpoint-edit"),
    path("endpoints/<slug:slug>/try/", try_out.edit, name="endpoint-try"),
    path("endpoints/<slug:slug>/remove/", endpoints.remove, name="endpoint-remove"),
    path("endpoints/<slug:slug>/runs/", endpoints.runs, name="endpoint-runs"),
    path("endpoints/<slug:slug>/run/", reprobe.latest, name="endpoint-run"),
    path("endpoints/<slug:slug>/probe/", reprobe.probe, name="endpoint-probe"),
    path("endpoints/<slug:slug>/policy/", endpoints.policy, name="endpoint-policy"),
    path("endpoints/<slug:slug>/modes/", modes.part, name="endpoint-modes"),
    path("endpoints/<slug:slug>/modes/<int:switch_id>/off/", modes.off, name="mode-off"),
    path(
        "endpoints/<slug:slug>/modes/<int:switch_id>/release/", modes.release, name="mode-release"
    ),
    path("endpoints/<slug:slug>/rollout/", rollouts.ask, name="rollout-ask"),
    path("endpoints/<slug:slug>/step-back/", rollouts.step_back, name="rollout-step-back"),
    path("endpoints/<slug:slug>/accept/<slug:metric>/", incidents.accept, name="endpoint-accept"),
    path("incidents/", incidents.page, name="incidents"),
    path("incidents/<int:incident_id>/", incidents.detail, name="incident"),
    path(
        "incidents/<int:incident_id>/acknowledge/",
        incidents.acknowledge,
        name="incident-acknowledge",
    ),
    path("incidents/<int:incident_id>/release/", incidents.release, name="incident-release"),
    *audit.urlpatterns,
    path("rollouts/", rollouts.page, name="rollouts"),
    path("rollouts/<int:request_id>/", rollouts.detail, name="rollout"),
    path("rollouts/<int:request_id>/decide/", rollouts.decide, name="rollout-decide"),
    path("rollouts/<int:request_id>/withdraw/", rollouts.withdraw, name="rollout-withdraw"),
    path("compare/", compare.page, name="compare"),
    path("compare/export/", compare.export, name="compare-export"),
    path("runs/<int:run_id>/", runs.page, name="run"),
    path("runs/<int:run_id>/progress/", reprobe.progress_of, name="run-progress"),
    path("runs/<int:run_id>/cancel/", reprobe.cancel, name="run-cancel"),
    path("runs/<int:run_id>/attempts/", runs.attempts, name="run-attempts"),
    path("runs/<int:run_id>/bundle/", runs.download, name="run-bundle"),
    path("runs/<int:run_id>/attempts/<str:probe>/<int:trial>/", attempts.page, name="attempt"),
    path(
        "runs/<int:run_id>/attempts/<str:probe>/<int:trial>/difference/",
        attempts.difference,
        name="attempt-difference",
    ),
    path(
        "runs/<int:run_id>/attempts/<str:probe>/<int:trial>/bundle/",
        attempts.download,
        name="attempt-bundle",
    ),
    path(
        "runs/<int:run_id>/attempts/<str:probe>/<int:trial>/<int:step>/chunks/",
        attempts.chunks,
        name="attempt-chunks",
    ),
    path(
        "runs/<int:run_id>/attempts/<str:probe>/<int:trial>/<int:step>/raw/",
        attempts.raw,
        name="attempt-raw",
    ),
    *system.urlpatterns,
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
    *people.urlpatterns,
    *demo.urlpatterns,
    *notifications.urlpatterns,
    path("settings/tools/", tool_rules.page, name="tool-rules"),
    path("settings/tools/<int:rule_id>/", tool_rules.change, name="tool-rule"),
    path("settings/tools/<int:rule_id>/move/", tool_rules.move, name="tool-rule-move"),
    path("settings/tools/<int:rule_id>/remove/", tool_rules.remove, name="tool-rule-remove"),
    path("settings/gates/", gates.page, name="gates"),
    path("settings/import/", import_file.page, name="import"),
    path("settings/export/", import_file.export, name="export"),
    *core.urlpatterns,
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
