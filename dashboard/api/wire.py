"""Request and response bodies: strict JSON of bounded size, and times to the microsecond."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.http import HttpRequest
from ninja.parser import Parser
from ninja.renderers import BaseRenderer
from pydantic_core import from_json, to_json
from typing_extensions import override

from dashboard.api.errors import ApiError, too_large_error


class StrictParser(Parser):
    """Refuses what Python's own parser accepts: NaN, half a surrogate pair, unlimited depth."""

    @override
    def parse_body(self, request: HttpRequest) -> Any:
        limit: int = settings.DATA_UPLOAD_MAX_MEMORY_SIZE
        # Django checks Content-Length, which a chunked body does not have.
        if len(request.body) > limit:
            raise too_large_error(limit)
        try:
            return from_json(request.body, allow_inf_nan=False)
        except ValueError as exc:
            raise ApiError(400, f"The body is not JSON: {exc}.") from exc


class Renderer(BaseRenderer):
    """Unlike Django's encoder, keeps the microseconds that PATCH compares."""

    media_type = "application/json"

    @override
    def render(self, request: HttpRequest, data: Any, *, response_status: int) -> bytes:
        return to_json(data)
