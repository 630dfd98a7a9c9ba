from __future__ import annotations

from django.urls import path

from dashboard.demo import views

urlpatterns = [
    path("settings/demo/", views.demo_page, name="demo"),
    path("settings/demo/start/", views.start_demo, name="demo-start"),
    path("settings/demo/remove/", views.remove_demo, name="demo-remove"),
    path("settings/demo/hide/", views.hide_banner, name="demo-hide"),
]
