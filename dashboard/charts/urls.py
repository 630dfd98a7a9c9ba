from __future__ import annotations

from django.urls import path

from dashboard.charts.views import charts, notes

urlpatterns = [
    path("endpoints/<slug:slug>/chart/", charts.chart_part, name="endpoint-chart"),
    path("endpoints/<slug:slug>/chart/points/", charts.chart_points, name="endpoint-points"),
    path("endpoints/<slug:slug>/chart/export/", charts.export_chart, name="endpoint-export"),
    path("endpoints/<slug:slug>/notes/", notes.notes_part, name="endpoint-notes"),
    path(
        "endpoints/<slug:slug>/notes/<int:note_id>/remove/", notes.remove_note, name="note-remove"
    ),
]
