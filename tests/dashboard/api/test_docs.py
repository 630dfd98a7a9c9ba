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
    """All commands of the page succeed when they are copied."""
    root = User.objects.create_superuser("root")
    text = tokens.issue_token(name="docs", scopes=Scope.values, by=root).text
    values = {"TOOLGAUGE": site.url, "TOKEN": text, "NOW": timezone.now().isoformat()}

    answers = []
    for command in COMMANDS:
        arguments = shlex.split(string.Template(command.replace("\\\n", " ")).substitute(values))
        if arguments[0] == "python":
            call_command(arguments[2], *arguments[3:])
            continue
        answers.append(_run_curl(arguments[1:]))
        values |= _read_variables(answers[-1])

    assert len(answers) == len(COMMANDS) - 1 > 12
    assert {answer.status for answer in answers} == {200, 201, 202, 204}


def test_every_address_of_the_page_is_one_of_the_api() -> None:
    """Also the URLs of commands that need a second person, and are not run here."""
    paths = re.findall(r"\$TOOLGAUGE(/api/v1/[^\"?\s]+)", PAGE)

    assert len(paths) > 30
    for address in paths:
        match = resolve(re.sub(r"\$[A-Z]+", "1", address))
        assert match.func.__name__ != "_unknown", address


def _read_variables(answer: Answer) -> dict[str, str]:
    """The variables that the page takes from a response."""
    body: Any = json.loads(answer.body) if answer.body.startswith("{") else {}
    variables = {"UPDATED_AT": body["updated_at"]} if "updated_at" in body else {}
    if "effect" in body:
        variables["MODE"] = str(body["id"])
    if "link" in body:
        variables["NOTE"] = str(body["id"])
    if "incidents" in body:
        variables["INCIDENT"] = str(make_incident(Endpoint.objects.get()).pk)
    if "suite" in body:
        variables["RUN"] = str(body["id"])
        run = Run.objects.get(pk=body["id"])
        if not run.attempts.exists():
            make_attempt(run, evidence={"exchanges": []})
    return variables


def _run_curl(arguments: list[str]) -> Answer:
    """Send the request of a curl command with the options that the page uses."""
    method, headers, data, url = "", {}, None, ""
    remaining = iter(arguments)
    for argument in remaining:
        if argument == "-X":
            method = next(remaining)
        elif argument == "-H":
            name, _, value = next(remaining).partition(": ")
            headers[name] = value
        elif argument == "-d":
            data = next(remaining).encode()
        elif argument != "-N":
            assert argument.startswith("http")
            url = argument
    request = urllib.request.Request(url, data, headers, method=method or "GET")  # noqa: S310
    with urllib.request.urlopen(request, timeout=60) as response:  # noqa: S310
        return Answer(response.status, response.read().decode())
