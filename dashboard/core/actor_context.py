"""Who the running code acts for and from where, available wherever a row is written."""

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
class ActorContext:
    """Who acts and from where. A token acts for the person who created it."""

    via: Via = Via.SYSTEM
    person_id: int | None = None
    name: str = ""
    token: str = ""
    address: str = ""
    request_id: str = ""

    def actor_json(self, by: User | None = None) -> dict[str, Any]:
        """The actor of an audit entry; `by` overrides it, except for a command."""
        name, person_id = self.name, self.person_id
        if by and self.via is not Via.COMMAND:
            name, person_id = by.get_username(), by.pk
        return {"name": name or self.via.value, "person": person_id, "token": self.token or None}

    def origin_json(self) -> dict[str, Any]:
        return {"via": self.via.value, "address": self.address, "request": self.request_id}


_acting: ContextVar[ActorContext] = ContextVar("acting", default=ActorContext())  # noqa: B039 -- frozen


def current_actor() -> ActorContext:
    return _acting.get()


@contextmanager
def acting_as(actor: ActorContext) -> Iterator[None]:
    token = _acting.set(actor)
    try:
        yield
    finally:
        _acting.reset(token)


def command_actor() -> ActorContext:
    """The user who runs a command on this machine."""
    try:
        name = pwd.getpwuid(os.getuid()).pw_name
    except KeyError:  # in a container a user may have only a number
        name = f"uid {os.getuid()}"
    return ActorContext(Via.COMMAND, name=name)


def identify_actor(**facts: Any) -> None:
    """Set fields of the current actor that become known during the request."""
    _acting.set(replace(_acting.get(), **facts))
