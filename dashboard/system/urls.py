from __future__ import annotations

from django.urls import path

from dashboard.system import views

urlpatterns = [
    path("settings/", views.settings_page, name="settings"),
    path("settings/retention/", views.retention_view, name="retention"),
    path("settings/system/", views.system_status_page, name="system"),
    path("healthz", views.healthz, name="healthz"),
    path("readyz", views.readyz, name="readyz"),
    path("metrics", views.metrics_page, name="metrics"),
]
