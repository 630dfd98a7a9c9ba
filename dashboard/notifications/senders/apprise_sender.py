"""A message through Apprise, which runs confined in a process of its own.

Apprise speaks to more than a hundred services, with clients of its own and on what people typed.
So it gets nothing but the message and the URL: no settings, no database, no other address, no
file, and no more time and memory than one message takes.
"""

from __future__ import annotations

import json
import subprocess
import sys
from datetime import timedelta
from typing import Any

from django.conf import settings

from dashboard.core.errors import Refused
from dashboard.notifications.senders.message import Message, SendResult
from health.translation import mark, say
from probes.egress_rules import EgressRules
from probes.secret import Secret

# Starting Python and loading Apprise, which is not the receiver's fault.
START_TIMEOUT = timedelta(seconds=15)
MAX_OUTPUT = 100_000
_NOT_UNDERSTOOD = mark("Apprise does not understand this URL; look up its form in Apprise's list.")


def send_apprise(
    url: Secret, message: Message, *, within: timedelta, rules: EgressRules
) -> SendResult:
    """Send once."""
    answer = _run_process({"title": message.title, "text": message.text}, url, within, rules)
    if answer.get("is_sent"):
        return SendResult(is_sent=True)
    if not answer.get("is_understood", True):
        return SendResult(is_sent=False, error=_NOT_UNDERSTOOD, is_final=True)
    refused = answer.get("refused")
    error = str(refused or answer.get("error") or "Apprise did not say why.")
    return SendResult(is_sent=False, error=error, is_final=bool(refused))


def check_apprise_url(url: Secret) -> None:
    """Refuse a URL that Apprise cannot make sense of; nothing is sent."""
    answer = _run_process({}, url, timedelta(), EgressRules())
    if not answer.get("is_understood"):
        raise Refused(say(_NOT_UNDERSTOOD))


def _run_process(
    what: dict[str, str], url: Secret, within: timedelta, rules: EgressRules
) -> dict[str, Any]:
    question: dict[str, Any] = {**what, "url": url.reveal(), "rules": _rules_json(rules)}
    question["within_s"] = within.total_seconds()
    try:
        done = subprocess.run(
            [sys.executable, "-m", "dashboard.notifications.senders.apprise_process"],
            input=json.dumps(question).encode(),
            capture_output=True,
            check=False,
            cwd=settings.BASE_DIR,
            env={"LANG": "C.UTF-8"},  # what this process knows is none of its business
            timeout=(START_TIMEOUT + within).total_seconds(),
        )
    except subprocess.TimeoutExpired:
        return {"error": f"Nothing came of it within {within.total_seconds():g} s."}
    except OSError as exc:
        return {"error": f"No process for Apprise could be started: {exc.strerror}."}
    try:
        answer: dict[str, Any] = json.loads(done.stdout[:MAX_OUTPUT])
    except ValueError:
        return {"error": f"Apprise broke off (exit {done.returncode})."}
    return answer


def _rules_json(rules: EgressRules) -> dict[str, Any]:
    grants = [[str(grant.network), grant.first_port, grant.last_port] for grant in rules.grants]
    return {"grants": grants, "denied": sorted(rules.denied)}
