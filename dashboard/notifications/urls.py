from __future__ import annotations

from django.urls import path

from dashboard.notifications.views import channels, maintenance

urlpatterns = [
    path("settings/maintenance/", maintenance.maintenance_page, name="maintenance"),
    path(
        "settings/maintenance/<int:window_id>/cancel/",
        maintenance.cancel_window,
        name="maintenance-cancel",
    ),
    path("settings/channels/", channels.channels_page, name="channels"),
    path("settings/channels/new/", channels.new_channel, name="channel-new"),
    path("settings/channels/<int:channel_id>/", channels.edit_channel, name="channel-edit"),
    path(
        "settings/channels/<int:channel_id>/remove/", channels.remove_channel, name="channel-remove"
    ),
    path(
        "settings/channels/<int:channel_id>/secret/", channels.rotate_secret, name="channel-rotate"
    ),
    path("settings/channels/<int:channel_id>/test/", channels.send_test, name="channel-test"),
    path("settings/deliveries/", channels.deliveries_page, name="deliveries"),
    path(
        "settings/deliveries/<int:delivery_id>/", channels.delivery_result, name="delivery-result"
    ),
    path(
        "settings/deliveries/<int:delivery_id>/retry/",
        channels.retry_delivery,
        name="delivery-retry",
    ),
]
