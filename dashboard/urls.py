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
from dashboard.audit import views as audit
from dashboard.charts import urls as charts
from dashboard.compare import views as compare
from dashboard.core import design_views
from dashboard.demo import views as demo
from dashboard.endpoints.views import endpoints, import_file, ollama_discovery, try_out
from dashboard.fleet import urls as fleet
from dashboard.incidents import views as incidents
from dashboard.notifications.views import channels, maintenance
from dashboard.people.views import account_recovery, invitations, people, teams, tokens
from dashboard.policy.views import modes, tool_rules
from dashboard.rollouts.views import gates, rollouts
from dashboard.runs.views import attempts, reprobe, runs
from dashboard.system.views import health_checks, prometheus, settings, system

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
    path("audit/", audit.audit_page, name="audit"),
    path("audit/export/", audit.export_audit, name="audit-export"),
    path("audit/<int:entry_id>/", audit.entry_page, name="audit-entry"),
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
    path("settings/", settings.settings_page, name="settings"),
    path("settings/retention/", settings.retention_view, name="retention"),
    path("settings/password/", preferences.password, name="password"),
    path("settings/security/", second_factor.page, name="security"),
    path("settings/security/app/", second_factor.app, name="security-app"),
    path("settings/security/passkeys/new/", second_factor.new_passkey, name="security-passkey-new"),
    path("settings/security/<int:factor_id>/remove/", second_factor.remove, name="security-remove"),
    path("settings/security/codes/", second_factor.codes, name="security-codes"),
    path("settings/security/link/", oidc.link, name="security-link"),
    path("settings/security/unlink/", oidc.unlink, name="security-unlink"),
    path("settings/sessions/", sessions.page, name="sessions"),
    path("settings/sessions/<uuid:session_id>/end/", sessions.end, name="session-end"),
    path("settings/people/", people.people_page, name="people"),
    path("settings/people/<int:person_id>/", people.person_page, name="person"),
    path(
        "settings/people/<int:person_id>/password/", people.reset_password, name="person-password"
    ),
    path("settings/people/<int:person_id>/role/", people.set_administrator, name="person-role"),
    path("settings/people/<int:person_id>/grants/", people.give_role, name="person-grants"),
    path(
        "settings/people/<int:person_id>/grants/<int:grant_id>/take/",
        people.take_role,
        name="grant-take",
    ),
    path(
        "settings/people/<int:person_id>/withdraw/",
        people.withdraw_invitation,
        name="person-withdraw",
    ),
    path(
        "settings/people/<int:person_id>/deactivate/",
        people.deactivate_person,
        name="person-deactivate",
    ),
    path(
        "settings/people/<int:person_id>/reactivate/",
        people.reactivate_person,
        name="person-reactivate",
    ),
    path("settings/teams/", teams.teams_page, name="teams"),
    path("settings/teams/<int:team_id>/", teams.team_page, name="team"),
    path("settings/teams/<int:team_id>/endpoints/", teams.move_endpoints, name="team-endpoints"),
    path("settings/teams/<int:team_id>/remove/", teams.remove_team, name="team-remove"),
    path("invitations/<str:token>/", invitations.invitation_page, name="invitation"),
    path(
        "settings/people/<int:person_id>/unlock/",
        account_recovery.unlock_person,
        name="person-unlock",
    ),
    path(
        "settings/people/<int:person_id>/second-factor/",
        account_recovery.reset_second_factor,
        name="person-second-factor",
    ),
    path("settings/demo/", demo.demo_page, name="demo"),
    path("settings/demo/start/", demo.start_demo, name="demo-start"),
    path("settings/demo/remove/", demo.remove_demo, name="demo-remove"),
    path("settings/demo/hide/", demo.hide_banner, name="demo-hide"),
    path("settings/tokens/", tokens.tokens_page, name="tokens"),
    path("settings/tokens/<slug:prefix>/revoke/", tokens.revoke_token, name="token-revoke"),
    path("settings/maintenance/", maintenance.maintenance_page, name="maintenance"),
    path(
        "settings/maintenance/<int:window_id>/cancel/",
        maintenance.cancel_window,
        name="maintenance-cancel",
    ),
    path("settings/tools/", tool_rules.page, name="tool-rules"),
    path("settings/tools/<int:rule_id>/", tool_rules.change, name="tool-rule"),
    path("settings/tools/<int:rule_id>/move/", tool_rules.move, name="tool-rule-move"),
    path("settings/tools/<int:rule_id>/remove/", tool_rules.remove, name="tool-rule-remove"),
    path("settings/gates/", gates.page, name="gates"),
    path("settings/channels/", channels.channels_page, name="channels"),
    path("settings/channels/new/", channels.new_channel, name="channel-new"),
    path("settings/channels/<int:channel_id>/", channels.edit_channel, name="channel-edit"),
    path(
        "settings/channels/<int:channel_id>/remove/", channels.remove_channel, name="channel-remove"
    ),
    path(
        "settings/channels/<int:channel_id>/secret/", channels.rotate_secret, name="channel-rotate"
    ),
    path("settings/channels/<int:channel_id>/test/", channels.send_test, name="channel-test"),
    path("settings/deliveries/", channels.deliveries_page, name="deliveries"),
    path(
        "settings/deliveries/<int:delivery_id>/", channels.delivery_result, name="delivery-result"
    ),
    path(
        "settings/deliveries/<int:delivery_id>/retry/",
        channels.retry_delivery,
        name="delivery-retry",
    ),
    path("settings/import/", import_file.page, name="import"),
    path("settings/export/", import_file.export, name="export"),
    path("settings/system/", system.system_status_page, name="system"),
    path("design/", design_views.design_page, name="design"),
    path("design/toast/", design_views.show_toast, name="design-toast"),
    path("language/", preferences.language, name="language"),
    path("login/", sign_in.page, name="login"),
    path("login/code/", sign_in.code, name="login-code"),
    path("login/passkey/", sign_in.passkey, name="login-passkey"),
    path("login/passkey/options/", sign_in.passkey_options, name="passkey-options"),
    path("login/oidc/", oidc.begin, name="login-oidc"),
    path("login/oidc/back/", oidc.back, name="login-oidc-back"),
    path("logout/", sign_in.leave, name="logout"),
    path("confirm/", reauthentication.page, name="confirm"),
    path("healthz", health_checks.healthz, name="healthz"),
    path("readyz", health_checks.readyz, name="readyz"),
    path("metrics", prometheus.metrics_page, name="metrics"),
]
