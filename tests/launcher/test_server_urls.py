"""Servers that somebody else runs: a wrong URL gives a sentence, never a password."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.conf import settings

from launcher.server_urls import WrongServer, check_broker, check_database
from tests.live import environment

DATABASE = {
    "postgresql://a:pw-4711@127.0.0.1:1/b": "refused",
    "postgresql://a:pw-4711@no-such-host.invalid/b": "no-such-host.invalid",
    "5432": "must look like",
}
# Whether the server may come back as it is.
BROKER = {
    "redis://:pw-4711@127.0.0.1:1/0": True,
    "redis://:pw-4711@no-such-host.invalid/0": False,
    "127.0.0.1:6379": False,
}


def explain(check: Callable[[str], None], url: str) -> WrongServer:
    with pytest.raises(WrongServer) as caught:
        check(url)
    assert "pw-4711" not in str(caught.value)
    assert str(caught.value).endswith(".")
    assert len(str(caught.value).splitlines()) == 1
    return caught.value


@pytest.mark.parametrize("url", DATABASE)
def test_database_that_is_not_there_is_explained(url: str) -> None:
    """The sentence has the address or the form, and the variable to correct."""
    error = explain(check_database, url)

    assert DATABASE[url] in str(error)
    assert "DATABASE_URL" in str(error)


@pytest.mark.parametrize("url", BROKER)
def test_broker_that_is_not_there_is_explained(url: str) -> None:
    """Only a broker that is down may come back: workers wait for that one alone."""
    error = explain(check_broker, url)

    assert "REDIS_URL" in str(error)
    assert error.may_come_back is BROKER[url]


def test_wrong_passwords_are_explained(db: None) -> None:
    """Servers that answer and refuse us stay wrong."""
    database = environment()["DATABASE_URL"]
    wrong = database.replace(settings.DATABASES["default"]["PASSWORD"], "pw-4711")
    assert "DATABASE_URL" in str(explain(check_database, wrong))

    head, _, address = settings.REDIS_URL.rpartition("@")
    assert head
    assert not explain(check_broker, f"redis://:pw-4711@{address}").may_come_back
    check_database(database)
    check_broker(settings.REDIS_URL)
