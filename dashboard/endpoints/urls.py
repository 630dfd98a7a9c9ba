from __future__ import annotations

from django.urls import path

from dashboard.endpoints.views import endpoints, import_file, ollama_discovery, try_out

urlpatterns = [
    path("endpoints/new/", endpoints.new_endpoint, name="endpoint-new"),
    path("endpoints/new/try/", try_out.try_new_endpoint, name="endpoint-new-try"),
    path("first-run/nearby/", ollama_discovery.ollama_models_part, name="nearby"),
    path("endpoints/<slug:slug>/", endpoints.endpoint_page, name="endpoint"),
    path("endpoints/<slug:slug>/edit/", endpoints.edit_endpoint, name="endpoint-edit"),
    path("endpoints/<slug:slug>/try/", try_out.try_endpoint, name="endpoint-try"),
    path("endpoints/<slug:slug>/remove/", endpoints.remove_endpoint, name="endpoint-remove"),
    path("endpoints/<slug:slug>/runs/", endpoints.endpoint_runs, name="endpoint-runs"),
    path("endpoints/<slug:slug>/policy/", endpoints.endpoint_policy, name="endpoint-policy"),
    path("settings/import/", import_file.import_page, name="import"),
    path("settings/export/", import_file.export_file, name="export"),
]
