"""What every kind of answer carries: headers, cookies and the policy for scripts, as one picture.

A change here is a decision. `SNAPSHOT=write ./run test tests/security/test_headers.py` draws the
picture anew; look at what changed before you commit it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from http.cookies import SimpleCookie
from pathlib import Path
from typing import Any

import pytest
from django.http import HttpResponseBase
from django.templatetags.static import static
from django.test import Client

from dashboard.models.people import Role
from tests.factories import make_person
from tests.security.people import PASSWORD

ROOT = Path(__file__).resolve().parents[2]
SNAPSHOT = Path(__file__).with_name("headers.json")
HOST = "toolgauge.example.com"
# Those of the settings that depend on how people reach the pages.
NAMES = "SESSION_COOKIE_NAME CSRF_COOKIE_NAME LANGUAGE_COOKIE_NAME SESSION_COOKIE_SECURE"
NAMES += " CSRF_COOKIE_SECURE LANGUAGE_COOKIE_SECURE SECURE_SSL_REDIRECT SECURE_HSTS_SECONDS"
NAMES += " SECURE_HSTS_INCLUDE_SUBDOMAINS SECURE_HSTS_PRELOAD CONTENT_SECURITY_POLICY"
NAMES += " BROWSER_COOKIE_NAME"
READ = """import json, sys
from config import settings
json.dump({name: getattr(settings, name) for name in sys.argv[1:]}, sys.stdout)"""
# Different each time, or of no interest.
IGNORED_HEADERS = {"Content-Length", "Date", "ETag", "Expires", "Last-Modified", "X-Request-ID"}

pytestmark = pytest.mark.usefixtures("static_files")


def settings_for(url: str) -> dict[str, Any]:
    """The settings that depend on PUBLIC_URL, with that URL."""
    env = {**os.environ, "PUBLIC_URL": url, "LOG_LEVEL": "ERROR"}
    command = [sys.executable, "-c", READ, *NAMES.split()]
    result = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, check=True)
    body: dict[str, Any] = json.loads(result.stdout)
    return body


def collect_answers(scheme: str) -> dict[str, Any]:
    """Every kind of response, to a visitor and to a signed-in person."""
    secure = scheme == "https"
    stranger = Client(SERVER_NAME=HOST, raise_request_exception=False)
    person = Client(SERVER_NAME=HOST)
    form = {"username": "bob", "password": PASSWORD}
    answers: dict[str, Any] = {
        "page to a stranger": stranger.get("/login/", secure=secure),
        "redirect to the sign-in": stranger.get("/incidents/", secure=secure),
        "signing in": person.post("/login/", form, secure=secure),
        "page": person.get("/settings/", secure=secure),
        "page with a secret": person.get("/settings/password/", secure=secure),
        "choice of language": person.post("/language/", {"language": "en"}, secure=secure),
        "part of a page": person.get("/fleet/rows/", headers={"HX-Request": "true"}, secure=secure),
        "forbidden": person.get("/settings/people/", secure=secure),
        "not found": person.get("/nothing/", secure=secure),
        "wrong method": person.get("/logout/", secure=secure),
        "API": stranger.get("/api/v1/endpoints", secure=secure),
        "API description": stranger.get("/api/v1/openapi.json", secure=secure),
        "static file": stranger.get(static("css/base.css"), secure=secure),
        "process lives": stranger.get("/healthz", secure=secure),
        "signing out": person.post("/logout/", secure=secure),
    }
    if secure:
        answers["by http"] = stranger.get("/login/")
    values = {kind: snapshot_of(answer) for kind, answer in answers.items()}
    assert b"".join(answers["static file"].streaming_content)  # which closes the file
    return values


def snapshot_of(answer: HttpResponseBase) -> dict[str, Any]:
    headers = {name: value for name, value in answer.headers.items() if name not in IGNORED_HEADERS}
    return {
        "status": answer.status_code,
        "headers": dict(sorted(headers.items())),
        "cookies": {name: attributes(answer.cookies, name) for name in sorted(answer.cookies)},
    }


def attributes(cookies: SimpleCookie, name: str) -> dict[str, Any]:
    return {
        key: value
        for key, value in sorted(cookies[name].items())
        if value is not False and value != "" and key != "expires"
    }


def test_answers_carry_what_they_should(db: None, settings: Any) -> None:
    """Headers and cookies with http on this machine, and with https."""
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
    make_person("bob", Role.VIEWER, password=PASSWORD)
    values = {}
    for scheme, url in (("http", "http://127.0.0.1:8000"), ("https", f"https://{HOST}")):
        for name, value in settings_for(url).items():
            setattr(settings, name, value)
        settings.ALLOWED_HOSTS = [HOST]
        values[scheme] = collect_answers(scheme)

    if os.environ.get("SNAPSHOT") == "write":
        SNAPSHOT.write_text(json.dumps(values, indent=1, ensure_ascii=False) + "\n")
    assert values == json.loads(SNAPSHOT.read_text())


def test_the_picture_shows_what_was_promised() -> None:
    """The snapshot cannot lose the headers that matter."""
    picture = json.loads(SNAPSHOT.read_text())
    for scheme, answers in picture.items():
        for kind, answer in answers.items():
            headers, where = answer["headers"], f"{scheme}: {kind}"
            assert headers["X-Content-Type-Options"] == "nosniff", where
            if kind == "by http":
                continue
            policy = headers["Content-Security-Policy"]
            assert policy.startswith("default-src 'none'; script-src 'self'"), where
            assert "unsafe" not in policy, where
            assert headers["Referrer-Policy"] == "same-origin", where
            assert headers["Cross-Origin-Opener-Policy"] == "same-origin", where
            assert headers["Permissions-Policy"].startswith("camera=()"), where
            assert ("Strict-Transport-Security" in headers) == (scheme == "https"), where
            for name, cookie in answer["cookies"].items():
                assert cookie["path"] == "/", where
                assert "domain" not in cookie, where
                assert cookie.get("httponly") or cookie["max-age"] == 0, where
                assert cookie["samesite"] == "Lax", where
                assert name.startswith("__Host-") == (scheme == "https"), where
                assert cookie.get("secure", False) == (scheme == "https"), where
