"""The product's ASGI application, which counts its queries for progress.

/_queries returns the count and whether it still grows; /_most/N sets the limit of watchers.
"""

from __future__ import annotations

import json
from typing import Any

from django.db.backends.utils import CursorWrapper

from config.asgi import application as product
from dashboard.runs import progress_stream

counts = {"snapshots": 0}
_execute = CursorWrapper.execute


def _count_query(self: CursorWrapper, sql: Any, params: Any = None) -> Any:
    counts["snapshots"] += sql == progress_stream._SNAPSHOTS
    return _execute(self, sql, params)


CursorWrapper.execute = _count_query  # type: ignore[method-assign]


async def application(scope: Any, receive: Any, send: Any) -> None:
    path: str = scope["path"]
    if path.startswith("/_most/"):
        progress_stream.broadcaster.max_watchers = int(path.removeprefix("/_most/"))
    elif path != "/_queries":
        await product(scope, receive, send)
        return
    body = json.dumps({**counts, "reading": progress_stream.broadcaster.is_polling}).encode()
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": body})
