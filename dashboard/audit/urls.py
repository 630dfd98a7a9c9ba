from __future__ import annotations

from django.urls import path

from dashboard.audit import views

urlpatterns = [
    path("audit/", views.audit_page, name="audit"),
    path("audit/export/", views.export_audit, name="audit-export"),
    path("audit/<int:entry_id>/", views.entry_page, name="audit-entry"),
]
