from __future__ import annotations

from django.urls import path

from dashboard.compare import views as compare

urlpatterns = [
    path("compare/", compare.compare_page, name="compare"),
    path("compare/export/", compare.export_comparison, name="compare-export"),
]
