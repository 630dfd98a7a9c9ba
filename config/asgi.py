"""The ASGI entry of the web process."""

from __future__ import annotations

import os
import warnings

from django.core.asgi import get_asgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
# WhiteNoise hands out files by a synchronous iterator; Django copes and says so each time.
warnings.filterwarnings("ignore", message="StreamingHttpResponse must consume synchronous")
application = get_asgi_application()
