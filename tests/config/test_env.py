from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest
from django.core.exceptions import ImproperlyConfigured

from config import env


@pytest.mark.parametrize(
    ("text", "seconds"), [("0.5s", 0.5), ("90s", 90), ("5m", 300), ("6h", 21600), ("1d", 86400)]
)
def test_a_duration_is_a_number_with_a_unit(
    monkeypatch: pytest.MonkeyPatch, text: str, seconds: float
) -> None:
    """Durations carry their unit."""
    monkeypatch.setenv("WAIT", text)

    assert env.env_duration("WAIT", default="1s") == timedelta(seconds=seconds)


@pytest.mark.parametrize("text", ["", "90", "5 minutes", "-1s", "1w"])
def test_a_bad_duration_stops_the_start_and_names_the_variable(
    monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    """A wrong value is reported at the start, not an hour later."""
    monkeypatch.setenv("WAIT", text)

    with pytest.raises(ImproperlyConfigured, match="WAIT must be a duration"):
        env.env_duration("WAIT", default="1s")


@pytest.mark.parametrize(("name", "text"), [("N", "many"), ("N", "-1"), ("N", "1.5")])
def test_a_bad_number_names_the_variable(
    monkeypatch: pytest.MonkeyPatch, name: str, text: str
) -> None:
    """Numbers are whole and in range, or the start fails."""
    monkeypatch.setenv(name, text)

    with pytest.raises(ImproperlyConfigured, match=r"^N must be"):
        env.env_int(name, default=3)


def test_false_is_false(monkeypatch: pytest.MonkeyPatch) -> None:
    """The word False is not a true value, and a typo is neither."""
    monkeypatch.setenv("FLAG", "False")
    assert env.env_bool("FLAG", default=True) is False

    monkeypatch.setenv("FLAG", "flase")
    with pytest.raises(ImproperlyConfigured, match="FLAG"):
        env.env_bool("FLAG", default=True)


def test_a_secret_may_stand_in_a_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """NAME_FILE is read if NAME is not set; neither set is an error that names both."""
    with pytest.raises(ImproperlyConfigured, match="Set TOKEN, or TOKEN_FILE"):
        env.env_secret("TOKEN")

    (tmp_path / "token").write_text("from a file\n")
    monkeypatch.setenv("TOKEN_FILE", str(tmp_path / "token"))

    assert env.env_secret("TOKEN") == "from a file"


def test_a_database_url_may_have_quoted_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Passwords with special characters survive, options are passed on."""
    monkeypatch.setenv("DB", "postgresql://me:p%40ss%2F@db.example:5433/tool?sslmode=require")

    entry = env.env_database("DB", default="")

    assert (entry["USER"], entry["PASSWORD"], entry["HOST"]) == ("me", "p@ss/", "db.example")
    assert (entry["PORT"], entry["NAME"]) == ("5433", "tool")
    assert entry["OPTIONS"]["sslmode"] == "require"


def test_a_database_that_falls_silent_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a limit a dead network would block for 15 minutes; the URL can set its own."""
    monkeypatch.setenv("DB", "postgresql://me@db.example/tool?connect_timeout=3")

    options = env.env_database("DB", default="")["OPTIONS"]

    assert options["connect_timeout"] == "3"
    assert options["tcp_user_timeout"] == "30000"


@pytest.mark.parametrize("text", ["mysql://a/b", "postgresql://host", "nonsense"])
def test_another_database_is_refused(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    """Only Postgres is accepted, and the message shows the format."""
    monkeypatch.setenv("DB", text)

    with pytest.raises(ImproperlyConfigured, match="postgresql://user"):
        env.env_database("DB", default="")


def test_servers_are_hosts_with_a_port(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of an IPv6 address the brackets go."""
    monkeypatch.setenv("OWN", "web:8000, [::1]:8001")

    assert env.env_servers("OWN") == [("web", 8000), ("::1", 8001)]


@pytest.mark.parametrize("text", ["web", "web:", ":80", "web:0", "web:70000", "web:http"])
def test_a_server_without_a_port_stops_the_start(
    monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    """A server that is not understood would not be protected."""
    monkeypatch.setenv("OWN", text)

    with pytest.raises(ImproperlyConfigured, match="OWN must look like"):
        env.env_servers("OWN")
