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
    path("endpoints/new/", endpoints.new_endpoint, name="endpoint-new"),
    path("endpoints/new/try/", try_out.try_new_endpoint, name="endpoint-new-try"),
    path("first-run/nearby/", ollama_discovery.ollama_models_part, name="nearby"),
    path("endpoints/<slug:slug>/", endpoints.endpoint_page, name="endpoint"),
    path("endpoints/<slug:slug>/edit/", endpoints.edit_endpoint, name="endpoint-edit"),
    path("endpoints/<slug:slug>/try/", try_out.try_endpoint, name="endpoint-try"),
    path("endpoints/<slug:slug>/remove/", endpoints.remove_endpoint, name="endpoint-remove"),
    path("endpoints/<slug:slug>/runs/", endpoints.endpoint_runs, name="endpoint-runs"),
    path("endpoints/<slug:slug>/run/", reprobe.latest_progress, name="endpoint-run"),
    path("endpoints/<slug:slug>/probe/", reprobe.reprobe_page, name="endpoint-probe"),
    path("endpoints/<slug:slug>/policy/", endpoints.endpoint_policy, name="endpoint-policy"),
    path("endpoints/<slug:slug>/modes/", modes.modes_card, name="endpoint-modes"),
    path(
        "endpoints/<slug:slug>/modes/<int:switch_id>/off/", modes.switch_mode_off, name="mode-off"
    ),
    path(
        "endpoints/<slug:slug>/modes/<int:switch_id>/release/",
        modes.request_mode_release,
        name="mode-release",
    ),
    path("endpoints/<slug:slug>/rollout/", rollouts.request_promotion, name="rollout-ask"),
    path("endpoints/<slug:slug>/step-back/", rollouts.step_back, name="rollout-step-back"),
    path(
        "endpoints/<slug:slug>/accept/<slug:metric>/",
        incidents.accept_baseline,
        name="endpoint-accept",
    ),
    path("incidents/", incidents.incidents_page, name="incidents"),
    path("incidents/<int:incident_id>/", incidents.incident_page, name="incident"),
    path(
        "incidents/<int:incident_id>/acknowledge/",
        incidents.acknowledge_incident,
        name="incident-acknowledge",
    ),
    path(
        "incidents/<int:incident_id>/release/", incidents.release_incident, name="incident-release"
    ),
    *audit.urlpatterns,
    path("rollouts/", rollouts.rollouts_page, name="rollouts"),
    path("rollouts/<int:request_id>/", rollouts.request_detail, name="rollout"),
    path("rollouts/<int:request_id>/decide/", rollouts.decide, name="rollout-decide"),
    path("rollouts/<int:request_id>/withdraw/", rollouts.withdraw, name="rollout-withdraw"),
    path("compare/", compare.compare_page, name="compare"),
    path("compare/export/", compare.export_comparison, name="compare-export"),
    path("runs/<int:run_id>/", runs.run_page, name="run"),
    path("runs/<int:run_id>/progress/", reprobe.run_progress, name="run-progress"),
    path("runs/<int:run_id>/cancel/", reprobe.cancel_run, name="run-cancel"),
    path("runs/<int:run_id>/attempts/", runs.attempt_list, name="run-attempts"),
    path("runs/<int:run_id>/bundle/", runs.download_bundle, name="run-bundle"),
    path(
        "runs/<int:run_id>/attempts/<str:probe>/<int:trial>/", attempts.attempt_page, name="attempt"
    ),
    path(
        "runs/<int:run_id>/attempts/<str:probe>/<int:trial>/difference/",
        attempts.diff_page,
        name="attempt-difference",
    ),
    path(
        "runs/<int:run_id>/attempts/<str:probe>/<int:trial>/bundle/",
        attempts.download_bundle,
        name="attempt-bundle",
    ),
    path(
        "runs/<int:run_id>/attempts/<str:probe>/<int:trial>/<int:step>/chunks/",
        attempts.chunks_page,
        name="attempt-chunks",
    ),
    path(
        "runs/<int:run_id>/attempts/<str:probe>/<int:trial>/<int:step>/raw/",
        attempts.download_reply,
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
    path("settings/tools/", tool_rules.tool_rules_page, name="tool-rules"),
    path("settings/tools/<int:rule_id>/", tool_rules.change_tool_rule, name="tool-rule"),
    path("settings/tools/<int:rule_id>/move/", tool_rules.move_tool_rule, name="tool-rule-move"),
    path(
        "settings/tools/<int:rule_id>/remove/", tool_rules.remove_tool_rule, name="tool-rule-remove"
    ),
    path("settings/gates/", gates.gates_page, name="gates"),
    path("settings/import/", import_file.import_page, name="import"),
    path("settings/export/", import_file.export_file, name="export"),
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
