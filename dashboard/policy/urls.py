from __future__ import annotations

from django.urls import path

from dashboard.policy.views import modes, tool_rules

urlpatterns = [
    path("endpoints/<slug:slug>/modes/", modes.modes_card, name="endpoint-modes"),
    path(
        "endpoints/<slug:slug>/modes/<int:switch_id>/off/", modes.switch_mode_off, name="mode-off"
    ),
    path(
        "endpoints/<slug:slug>/modes/<int:switch_id>/release/",
        modes.request_mode_release,
        name="mode-release",
    ),
    path("settings/tools/", tool_rules.tool_rules_page, name="tool-rules"),
    path("settings/tools/<int:rule_id>/", tool_rules.change_tool_rule, name="tool-rule"),
    path("settings/tools/<int:rule_id>/move/", tool_rules.move_tool_rule, name="tool-rule-move"),
    path(
        "settings/tools/<int:rule_id>/remove/", tool_rules.remove_tool_rule, name="tool-rule-remove"
    ),
]
