from __future__ import annotations

from django.urls import path

from dashboard.core import design_views

urlpatterns = [
    path("design/", design_views.design_page, name="design"),
    path("design/toast/", design_views.show_toast, name="design-toast"),
]
