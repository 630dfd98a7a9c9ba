"""Logging with structlog: JSON in production, columns on a console; secrets are redacted."""

from __future__ import annotations

import re
import sys
from typing import Any

import structlog
from structlog.typing import EventDict, Processor, WrappedLogger

_SECRET_KEYS = re.compile(
    r"authorization|password|secret|credential|api[_-]?key|cookie|prompt|^headers$|^arguments$|^body$",
    re.IGNORECASE,
)
_SECRET_TEXT = re.compile(
    r"(?i)(bearer\s+|://[^/\s:@]*:)[^\s@,;'\"]+|\b(?:sk|sim|tg)[-_][A-Za-z0-9_-]{8,}"
)
REDACTED = "[redacted]"


def redact(_logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
    """Replace values that look like secrets, by their key and by their form."""
    return {key: _redact_value(key, value) for key, value in event.items()}


def logging_config(log_format: str, *, level: str) -> dict[str, Any]:
    """The dictConfig of the standard library, whose lines pass the same processors as ours."""
    renderer: Processor = (
        structlog.processors.JSONRenderer()
        if log_format == "json"
        else structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty())
    )
    structlog.configure(
        processors=[*_shared_processors(), structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=True,
    )
    formatter = {
        "()": structlog.stdlib.ProcessorFormatter,
        "foreign_pre_chain": _shared_processors(),
        "processors": [
            structlog.stdlib.ProcessorFormatter.remove_processors_meta,
            structlog.processors.format_exc_info,
            redact,
            renderer,
        ],
    }
    quiet = {"level": "WARNING"}
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {"structlog": formatter},
        "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "structlog"}},
        "root": {"handlers": ["stderr"], "level": level},
        "loggers": dict.fromkeys(("httpx", "httpcore", "asyncio", "celery.redirected"), quiet),
    }


def _shared_processors() -> list[Processor]:
    return [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_logger_name,
        structlog.stdlib.add_log_level,
        structlog.stdlib.PositionalArgumentsFormatter(),
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]


def _redact_value(key: str, value: Any) -> Any:
    if _SECRET_KEYS.search(key):
        return REDACTED
    if isinstance(value, str):
        return _SECRET_TEXT.sub(lambda match: (match[1] or "") + REDACTED, value)
    if isinstance(value, dict):
        return {inner: _redact_value(str(inner), item) for inner, item in value.items()}
    if isinstance(value, list | tuple):
        return [_redact_value("", item) for item in value]
    return value
