"""Mounts the pages and the API."""

from __future__ import annotations

from django.urls import include, path

from dashboard import api_root

handler403 = "dashboard.core.error_views.permission_denied_page"

urlpatterns = [
    path("api/v1/", api_root.urls),
    path("", include("dashboard.urls")),
]
