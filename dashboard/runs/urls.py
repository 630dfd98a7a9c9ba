from __future__ import annotations

from django.urls import path

from dashboard.runs.views import attempts, reprobe, runs

urlpatterns = [
    path("endpoints/<slug:slug>/run/", reprobe.latest_progress, name="endpoint-run"),
    path("endpoints/<slug:slug>/probe/", reprobe.reprobe_page, name="endpoint-probe"),
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
]
