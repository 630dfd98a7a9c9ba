"""API keys of a file: named in it, held by the environment of who runs the command."""

from __future__ import annotations

import re
from collections.abc import Mapping

from django.utils.translation import gettext as _

from dashboard.endpoints.as_code.mistakes import quoted
from dashboard.endpoints.as_code.scalars import is_nothing
from dashboard.endpoints.as_code.tree import Node, Scalar
from probes.errors import TargetError
from probes.secret import Secret
from probes.target import check_key

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,199}")
# Whoever may write the file must not be able to send our own secrets to a host of their choice.
_OURS = {"SECRET_KEY", "CREDENTIAL_KEYS", "DATABASE_URL", "REDIS_URL", "METRICS_TOKEN"}
_OURS |= {f"{name}_FILE" for name in _OURS}


class NoKey(Exception):
    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


def read(node: Node, variables: Mapping[str, str] | None) -> tuple[str, Secret | None]:
    """The variable that is named and the key in it; no key where no variables may be read."""
    if not isinstance(node, Scalar) or is_nothing(node) or not _NAME.fullmatch(node.text):
        # What stands here may be the key itself: it is not repeated.
        raise NoKey(_("“api_key_env” takes the name of a variable, such as TEAM_KEY, not a key."))
    name = node.text
    if name.upper() in _OURS:
        message = _("{name} is a secret of Toolgauge itself and leaves it for no endpoint.")
        raise NoKey(message.format(name=quoted(name)))
    return name, None if variables is None else _held(name, variables)


def _held(name: str, variables: Mapping[str, str]) -> Secret:
    text = variables.get(name, "").strip()
    if not text:
        message = _("The variable {name} is not set. Set it, or delete this line to keep the key.")
        raise NoKey(message.format(name=quoted(name)))
    try:
        return check_key(text)
    except TargetError as exc:
        message = _("The variable {name} holds no key. {why}")
        raise NoKey(message.format(name=quoted(name), why=exc.message)) from exc
