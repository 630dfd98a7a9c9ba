"""Settings in a process of their own, as production would start them."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from tests.preloaded import run_module

ROOT = Path(__file__).resolve().parents[2]
PRODUCTION = {"PUBLIC_URL": "https://toolgauge.example.com", "DEBUG": ""}


def manage(*arguments: str, **env: str) -> subprocess.CompletedProcess[str]:
    return run_module("manage", *arguments, env={**os.environ, **PRODUCTION, **env})


def test_a_production_start_passes_the_deployment_check() -> None:
    """`check --deploy` reports nothing."""
    checked = manage("check", "--deploy", "--fail-level", "WARNING")

    assert checked.returncode == 0, checked.stderr
    assert "no issues" in checked.stdout


def test_plain_http_is_refused_for_any_other_machine() -> None:
    """Session cookies never travel in the clear."""
    checked = manage("check", PUBLIC_URL="http://toolgauge.example.com")

    assert checked.returncode != 0
    assert "PUBLIC_URL must be https" in checked.stderr


def test_https_means_that_a_proxy_handles_tls() -> None:
    """Its X-Forwarded-Proto is read unless a setting says no; else pages redirect forever."""
    code = "from django.conf import settings; print(settings.SECURE_PROXY_SSL_HEADER)"
    shell = ("shell", "--verbosity", "0", "-c", code)

    assert "HTTP_X_FORWARDED_PROTO" in manage(*shell).stdout
    assert manage(*shell, BEHIND_PROXY="false").stdout.strip() == "None"


def test_a_missing_secret_key_is_named() -> None:
    """Outside debug mode, a secret has no default."""
    checked = manage("check", SECRET_KEY="", SECRET_KEY_FILE="")

    assert checked.returncode != 0
    assert "Set SECRET_KEY" in checked.stderr


def test_every_variable_is_in_the_example_file() -> None:
    """`.env.example` lists the variables of settings and of compose, and no others."""
    code = (ROOT / "config/settings.py").read_text()
    read = set(re.findall(r'env_\w+\(\s*"([A-Z_]+)"', code))
    listed = set(re.findall(r"^([A-Z_]+)=", (ROOT / ".env.example").read_text(), re.MULTILINE))
    compose = set(re.findall(r"\$\{([A-Z_]+)", (ROOT / "docker-compose.yml").read_text()))

    assert read <= listed
    assert listed <= read | compose


@pytest.mark.parametrize("directive", ["unsafe-inline", "unsafe-eval", "http:", "https:", "*"])
def test_the_content_security_policy_has_no_hole(directive: str) -> None:
    """No inline code, no evaluation, no other host."""
    from django.conf import settings

    assert directive not in settings.CONTENT_SECURITY_POLICY
    assert settings.CONTENT_SECURITY_POLICY.startswith("default-src 'none'")
