"""On whose behalf this code runs, and from where it was asked: known wherever a row is written."""

from __future__ import annotations

import os
import pwd
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from django.contrib.auth.models import User


class Via(StrEnum):
    PAGE = "page"
    API = "api"
    COMMAND = "command"
    SYSTEM = "system"  # schedules and workers


@dataclass(frozen=True, slots=True)
class Acting:
    """Who acts. A token acts for the person who made it."""

    via: Via = Via.SYSTEM
    person_id: int | None = None
    name: str = ""
    token: str = ""
    address: str = ""
    request_id: str = ""

    def actor_json(self, by: User | None = None) -> dict[str, Any]:
        """Whoever acts; `by` may say it better, but not in whose name a command was run."""
        name, person_id = self.name, self.person_id
        if by and self.via is not Via.COMMAND:
            name, person_id = by.get_username(), by.pk
        return {"name": name or self.via.value, "person": person_id, "token": self.token or None}

    def origin_json(self) -> dict[str, Any]:
        return {"via": self.via.value, "address": self.address, "request": self.request_id}


_acting: ContextVar[Acting] = ContextVar("acting", default=Acting())  # noqa: B039 -- frozen


def now() -> Acting:
    return _acting.get()


@contextmanager
def by(who: Acting) -> Iterator[None]:
    """Whatever is done inside is done by them."""
    token = _acting.set(who)
    try:
        yield
    finally:
        _acting.reset(token)


def command() -> Acting:
    """Whoever runs a command on this machine, by the name that it knows them by."""
    try:
        name = pwd.getpwuid(os.getuid()).pw_name
    except KeyError:  # in a container a user may have only a number
        name = f"uid {os.getuid()}"
    return Acting(Via.COMMAND, name=name)


def identify(**known: Any) -> None:
    """Say more about who acts in the present `by`, once it is known."""
    _acting.set(replace(_acting.get(), **known))
