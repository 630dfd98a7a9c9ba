"""The ASGI entry of the web process."""

from __future__ import annotations

import logging.config
import os
import warnings

from django.conf import settings
from django.core.asgi import get_asgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
# WhiteNoise serves files by a synchronous iterator; Django handles that, with a warning each time.
warnings.filterwarnings("ignore", message="StreamingHttpResponse must consume synchronous")
application = get_asgi_application()
# After Django's own set-up, so that its log lines pass the processors that redact secrets.
logging.config.dictConfig(settings.LOGGING)
