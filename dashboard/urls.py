"""Every page and every part of one."""

from __future__ import annotations

from django.contrib.auth.views import LogoutView
from django.urls import path

from dashboard.views import (
    accounts,
    charts,
    endpoints,
    fleet,
    metrics,
    probing,
    runs,
    service,
    system,
    tokens,
)

urlpatterns = [
    path("", fleet.page, name="fleet"),
    path("fleet/rows/", fleet.rows, name="fleet-rows"),
    path("endpoints/new/", endpoints.new, name="endpoint-new"),
    path("endpoints/<slug:slug>/", endpoints.page, name="endpoint"),
    path("endpoints/<slug:slug>/edit/", endpoints.edit, name="endpoint-edit"),
    path("endpoints/<slug:slug>/remove/", endpoints.remove, name="endpoint-remove"),
    path("endpoints/<slug:slug>/runs/", endpoints.runs, name="endpoint-runs"),
    path("endpoints/<slug:slug>/run/", probing.latest, name="endpoint-run"),
    path("endpoints/<slug:slug>/probe/", probing.probe, name="endpoint-probe"),
    path(
        "endpoints/<slug:slug>/charts/parse-success/",
        charts.parse_success,
        name="chart-parse-success",
    ),
    path("runs/<int:run_id>/", runs.page, name="run"),
    path("runs/<int:run_id>/progress/", probing.progress_of, name="run-progress"),
    path("runs/<int:run_id>/cancel/", probing.cancel, name="run-cancel"),
    path("runs/<int:run_id>/attempts/", runs.attempts, name="run-attempts"),
    path("runs/<int:run_id>/attempts/<str:probe>/<int:trial>/", runs.attempt, name="attempt"),
    path("settings/tokens/", tokens.page, name="tokens"),
    path("settings/tokens/<slug:prefix>/revoke/", tokens.revoke, name="token-revoke"),
    path("settings/system/", system.page, name="system"),
    path("login/", accounts.Login.as_view(), name="login"),
    path("logout/", LogoutView.as_view(), name="logout"),
    path("healthz", service.healthz, name="healthz"),
    path("readyz", service.readyz, name="readyz"),
    path("metrics", metrics.page, name="metrics"),
]
