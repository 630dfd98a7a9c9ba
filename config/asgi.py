"""The ASGI entry of the web process."""

from __future__ import annotations

import logging.config
import os
import warnings

from django.conf import settings
from django.core.asgi import get_asgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
# WhiteNoise hands out files by a synchronous iterator; Django copes and says so each time.
warnings.filterwarnings("ignore", message="StreamingHttpResponse must consume synchronous")
application = get_asgi_application()
# After Django's own set-up, so that its lines too pass the processors that hide secrets.
logging.config.dictConfig(settings.LOGGING)
