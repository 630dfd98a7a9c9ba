from __future__ import annotations

from django.apps import AppConfig
from django.utils.translation import gettext, ngettext
from typing_extensions import override

from health import wording


class DashboardConfig(AppConfig):
    name = "dashboard"

    @override
    def ready(self) -> None:
        wording.speak(wording.Language(one=gettext, many=ngettext))
