"""The doctor: every check in the order in which a person would look, each with what to do."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from django.db import Error

from dashboard.system import queries as monitoring
from dashboard.system.doctor import running, store, surroundings
from dashboard.system.doctor.check import Check, Verdict, bad

Examination = Callable[[], Check]

WITHOUT_TABLES: tuple[Examination, ...] = (
    store.clock,
    surroundings.redis,
    surroundings.secret_key,
    surroundings.credential_keys,
)
WITH_TABLES: tuple[Examination, ...] = (
    surroundings.stored_credentials,
    store.recount,
    store.retained,
    store.room,
)


@dataclass(frozen=True, slots=True)
class Report:
    checks: tuple[Check, ...]
    # Whether the database answered; without it there is nothing to look at.
    reached: bool = True

    @property
    def worst(self) -> Verdict:
        found = {check.verdict for check in self.checks}
        return next(v for v in (Verdict.BAD, Verdict.WARN, Verdict.OK) if v in found)


def examine() -> Report:
    """Make every check that can be made. Nothing is changed."""
    database = store.database()
    if database.verdict is Verdict.BAD:
        return Report((database,), reached=False)
    migrations = store.migrations()
    checks = [database, migrations, *map(_made, WITHOUT_TABLES)]
    if migrations.verdict is Verdict.OK:
        checks += [*_running(), *map(_made, WITH_TABLES)]
    return Report(tuple(checks))


def _running() -> list[Check]:
    try:
        state = monitoring.state(None)
    except Error as exc:
        return [_failed("state", exc)]
    # The broker has a check of its own here.
    return [check(state) for check in running.CHECKS if check is not running.doorbells]


def _made(check: Examination) -> Check:
    try:
        return check()
    except Error as exc:
        return _failed(check.__name__.replace("_", " "), exc)


def _failed(name: str, exc: Error) -> Check:
    reason = " ".join(str(exc).split())
    return bad(name, f"The check could not be made: {reason}", "See the log of the database.")
