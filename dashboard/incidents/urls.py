from __future__ import annotations

from django.urls import path

from dashboard.incidents import views as incidents

urlpatterns = [
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
]
