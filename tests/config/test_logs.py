from __future__ import annotations

import io
import json
import logging
import logging.config
import subprocess
import sys
from collections.abc import Iterator

import pytest
import structlog

from config.logs import REDACTED, logging_config

CANARY = "sk-canary-0123456789abcdef"


@pytest.fixture
def lines() -> Iterator[io.StringIO]:
    """The lines that a process with our logging writes."""
    from django.conf import settings

    out = io.StringIO()
    config = logging_config("json", level="DEBUG")
    config["handlers"]["stderr"]["stream"] = out
    logging.config.dictConfig(config)
    yield out
    logging.config.dictConfig(settings.LOGGING)


@pytest.mark.parametrize(
    "key", ["authorization", "api_key", "password", "cookie", "prompt", "body"]
)
def test_values_under_telling_names_are_hidden(lines: io.StringIO, key: str) -> None:
    """Values under such a key do not reach the log, at any depth."""
    structlog.get_logger().info("call", **{key: "plain words"}, facts={key: "plain words"})

    line = json.loads(lines.getvalue())
    assert line[key] == line["facts"][key] == REDACTED


@pytest.mark.parametrize(
    "text",
    [
        f"Authorization: Bearer {CANARY}",
        f"the key is {CANARY}.",
        f"connecting to postgresql://user:{CANARY}@host/db",
        f"redis://:{CANARY}@127.0.0.1:6379/0",
    ],
)
def test_secrets_inside_a_sentence_are_hidden(lines: io.StringIO, text: str) -> None:
    """Known forms of secrets are redacted everywhere, in our lines and in those of libraries."""
    structlog.get_logger().warning("problem", error=text)
    logging.getLogger("someone.else").error("problem: %s", text)

    assert CANARY not in lines.getvalue()
    assert lines.getvalue().count(REDACTED) == 2


def test_the_web_process_hides_them_too() -> None:
    """A refused form is logged with its URL, which may be a link that still works."""
    address = "/invitations/tg_invite_0123456789abcdef/"
    program = f"import config.asgi, logging; logging.getLogger('django').warning('no: {address}')"
    run = [sys.executable, "-c", program]

    log = subprocess.run(run, capture_output=True, text=True, check=True).stderr

    assert f"/invitations/{REDACTED}/" in log
    assert "0123456789abcdef" not in log


def test_a_secret_in_a_traceback_is_hidden(lines: io.StringIO) -> None:
    """Tracebacks are redacted too."""
    try:
        raise ValueError(f"cannot use {CANARY}")
    except ValueError:
        logging.getLogger("someone.else").exception("failed")

    assert "ValueError" in lines.getvalue()
    assert CANARY not in lines.getvalue()
