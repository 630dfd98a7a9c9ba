"""Every command of docs/api.md, in the order of the page, against a real web process."""

from __future__ import annotations

import json
import re
import shlex
import string
import urllib.request
from dataclasses import dataclass
from typing import Any

from django.contrib.auth.models import User
from django.core.management import call_command
from django.urls import resolve
from django.utils import timezone

from dashboard.models import Endpoint, Run
from dashboard.models.people import Scope
from dashboard.people.services import tokens
from tests.dashboard.api.incidents import make_incident
from tests.dashboard.api.web_process import Site
from tests.factories import make_attempt
from tests.live import ROOT

PAGE = (ROOT / "docs" / "api.md").read_text()
COMMANDS = re.findall(r"^```sh\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    body: str


def test_every_command_of_the_page_works(site: Site, transactional_db: None) -> None:
    """Whoever copies the page's commands gets answers, not errors."""
    root = User.objects.create_superuser("root")
    text = tokens.issue_token(name="docs", scopes=Scope.values, by=root).text
    values = {"TOOLGAUGE": site.url, "TOKEN": text, "NOW": timezone.now().isoformat()}

    answers = []
    for command in COMMANDS:
        words = shlex.split(string.Template(command.replace("\\\n", " ")).substitute(values))
        if words[0] == "python":
            call_command(words[2], *words[3:])
            continue
        answers.append(_curl(words[1:]))
        values |= _learned(answers[-1])

    assert len(answers) == len(COMMANDS) - 1 > 12
    assert {answer.status for answer in answers} == {200, 201, 202, 204}


def test_every_address_of_the_page_is_one_of_the_api() -> None:
    """Also of commands that need a second person, and are therefore not run here."""
    found = re.findall(r"\$TOOLGAUGE(/api/v1/[^\"?\s]+)", PAGE)

    assert len(found) > 30
    for address in found:
        match = resolve(re.sub(r"\$[A-Z]+", "1", address))
        assert match.func.__name__ != "_unknown", address


def _learned(answer: Answer) -> dict[str, str]:
    """What the page tells its reader to take over from an answer."""
    found: Any = json.loads(answer.body) if answer.body.startswith("{") else {}
    learned = {"UPDATED_AT": found["updated_at"]} if "updated_at" in found else {}
    if "effect" in found:
        learned["MODE"] = str(found["id"])
    if "link" in found:
        learned["NOTE"] = str(found["id"])
    if "incidents" in found:
        learned["INCIDENT"] = str(make_incident(Endpoint.objects.get()).pk)
    if "suite" in found:
        learned["RUN"] = str(found["id"])
        run = Run.objects.get(pk=found["id"])
        if not run.attempts.exists():
            make_attempt(run, evidence={"exchanges": []})
    return learned


def _curl(words: list[str]) -> Answer:
    """What curl does with the options that the page uses."""
    method, headers, data, url = "", {}, None, ""
    given = iter(words)
    for word in given:
        if word == "-X":
            method = next(given)
        elif word == "-H":
            name, _, value = next(given).partition(": ")
            headers[name] = value
        elif word == "-d":
            data = next(given).encode()
        elif word != "-N":
            assert word.startswith("http")
            url = word
    request = urllib.request.Request(url, data, headers, method=method or "GET")  # noqa: S310
    with urllib.request.urlopen(request, timeout=60) as answer:  # noqa: S310
        return Answer(answer.status, answer.read().decode())
