from __future__ import annotations

from django.urls import path

from dashboard.rollouts.views import gates, rollouts

urlpatterns = [
    path("endpoints/<slug:slug>/rollout/", rollouts.request_promotion, name="rollout-ask"),
    path("endpoints/<slug:slug>/step-back/", rollouts.step_back, name="rollout-step-back"),
    path("rollouts/", rollouts.rollouts_page, name="rollouts"),
    path("rollouts/<int:request_id>/", rollouts.request_detail, name="rollout"),
    path("rollouts/<int:request_id>/decide/", rollouts.decide, name="rollout-decide"),
    path("rollouts/<int:request_id>/withdraw/", rollouts.withdraw, name="rollout-withdraw"),
    path("settings/gates/", gates.gates_page, name="gates"),
]
