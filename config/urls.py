"""Mounts the pages and the API."""

from __future__ import annotations

from django.urls import include, path

import dashboard.api

handler403 = "dashboard.views.faults.not_allowed"

urlpatterns = [
    path("api/v1/", dashboard.api.urls),
    path("", include("dashboard.urls")),
]
