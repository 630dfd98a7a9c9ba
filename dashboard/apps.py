from __future__ import annotations

from django.apps import AppConfig
from django.utils.translation import gettext, ngettext
from typing_extensions import override

from health import translation


class DashboardConfig(AppConfig):
    name = "dashboard"

    @override
    def ready(self) -> None:
        translation.set_language(translation.Language(one=gettext, many=ngettext))
