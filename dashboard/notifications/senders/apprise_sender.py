"""Sends messages through Apprise in a sandboxed process.

Apprise contacts more than a hundred services with its own clients and with URLs that users typed.
So it gets only the message and the URL: no settings, no database, no other address, no file, and
limited time and memory.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterable
from datetime import timedelta
from typing import Any

from django.conf import settings

from dashboard.core.errors import Refused
from dashboard.notifications.senders.delivery_message import Message, SendResult
from health.translation import mark, say
from probes.egress_rules import EgressGrant, EgressRules
from probes.secret import Secret

# For starting Python and loading Apprise, in addition to the time for the receiver.
START_TIMEOUT = timedelta(seconds=15)
MAX_OUTPUT = 100_000
_NOT_UNDERSTOOD = mark("Apprise does not understand this URL; look up its form in Apprise's list.")


def send_apprise(
    url: Secret, message: Message, *, within: timedelta, rules: EgressRules
) -> SendResult:
    response = _run_apprise({"title": message.title, "text": message.text}, url, within, rules)
    if response.get("is_sent"):
        return SendResult(is_sent=True)
    if not response.get("is_understood", True):
        return SendResult(is_sent=False, error=_NOT_UNDERSTOOD, is_final=True)
    refused = response.get("refused")
    error = str(refused or response.get("error") or "Apprise did not say why.")
    return SendResult(is_sent=False, error=error, is_final=bool(refused))


def check_apprise_url(url: Secret) -> None:
    """Refuse a URL that Apprise cannot parse. Sends nothing."""
    response = _run_apprise({}, url, timedelta(), EgressRules())
    if not response.get("is_understood"):
        raise Refused(say(_NOT_UNDERSTOOD))


def _run_apprise(
    message_fields: dict[str, str], url: Secret, within: timedelta, rules: EgressRules
) -> dict[str, Any]:
    request: dict[str, Any] = {**message_fields, "url": url.reveal(), "rules": _rules_json(rules)}
    request["within_s"] = within.total_seconds()
    try:
        process = subprocess.run(
            [sys.executable, "-m", "dashboard.notifications.senders.apprise_process"],
            input=json.dumps(request).encode(),
            capture_output=True,
            check=False,
            cwd=settings.BASE_DIR,
            env={"LANG": "C.UTF-8"},  # no secrets of this process
            timeout=(START_TIMEOUT + within).total_seconds(),
        )
    except subprocess.TimeoutExpired:
        return {"error": f"Nothing came of it within {within.total_seconds():g} s."}
    except OSError as exc:
        return {"error": f"No process for Apprise could be started: {exc.strerror}."}
    try:
        response: dict[str, Any] = json.loads(process.stdout[:MAX_OUTPUT])
    except ValueError:
        return {"error": f"Apprise broke off (exit {process.returncode})."}
    return response


def _rules_json(rules: EgressRules) -> dict[str, Any]:
    return {"grants": _grants_json(rules.grants), "denied": _grants_json(rules.denied)}


def _grants_json(grants: Iterable[EgressGrant]) -> list[list[Any]]:
    return [[str(grant.network), grant.first_port, grant.last_port] for grant in grants]
