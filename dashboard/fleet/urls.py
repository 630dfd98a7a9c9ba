from __future__ import annotations

from django.urls import path

from dashboard.fleet import views

urlpatterns = [
    path("", views.fleet_page, name="fleet"),
    path("fleet/rows/", views.fleet_updates, name="fleet-rows"),
]
