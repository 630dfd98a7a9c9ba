"""The ASGI entry of the web process."""

from __future__ import annotations

import logging.config
import os
import warnings
from typing import cast

from django.conf import settings
from django.core.asgi import get_asgi_application
from starlette.types import ASGIApp

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
# WhiteNoise serves files by a synchronous iterator; Django handles that, with a warning each time.
warnings.filterwarnings("ignore", message="StreamingHttpResponse must consume synchronous")
_django = get_asgi_application()
# Its imports need Django's set-up, which the line above does.
from dashboard.sign_in_gate import SignInGate  # noqa: E402

application = SignInGate(cast(ASGIApp, _django))
# After Django's own set-up, so that its log lines pass the processors that redact secrets.
logging.config.dictConfig(settings.LOGGING)
