"""The doctor: all checks in the order of diagnosis, each with advice."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from django.db import Error

from dashboard.system import queries as monitoring
from dashboard.system.doctor import broker_and_keys, store, work_in_progress
from dashboard.system.doctor.check import Check, Verdict, bad

CheckFunction = Callable[[], Check]

WITHOUT_TABLES: tuple[CheckFunction, ...] = (
    store.clock,
    store.writes,
    broker_and_keys.redis,
    broker_and_keys.secret_key,
    broker_and_keys.credential_keys,
)
WITH_TABLES: tuple[CheckFunction, ...] = (
    broker_and_keys.stored_credentials,
    store.recount,
    store.retained,
    store.room,
)


@dataclass(frozen=True, slots=True)
class DoctorReport:
    checks: tuple[Check, ...]
    # False if the database does not respond: then no other check was run.
    is_reachable: bool = True

    @property
    def worst(self) -> Verdict:
        verdicts = {check.verdict for check in self.checks}
        return next(v for v in (Verdict.BAD, Verdict.WARN, Verdict.OK) if v in verdicts)


def run_checks() -> DoctorReport:
    """Run every check that can be run, without a change."""
    database = store.database()
    if database.verdict is Verdict.BAD:
        return DoctorReport((database,), is_reachable=False)
    migrations = store.migrations()
    checks = [database, migrations, *map(_run_check, WITHOUT_TABLES)]
    if migrations.verdict is Verdict.OK:
        checks += [*_run_state_checks(), *map(_run_check, WITH_TABLES)]
    return DoctorReport(tuple(checks))


def _run_state_checks() -> list[Check]:
    try:
        state = monitoring.read_system_state(None)
    except Error as exc:
        return [_failed_check("state", exc)]
    # `broker_and_keys.redis` checks the broker.
    return [
        check(state) for check in work_in_progress.CHECKS if check is not work_in_progress.broker
    ]


def _run_check(check: CheckFunction) -> Check:
    try:
        return check()
    except Error as exc:
        return _failed_check(check.__name__.replace("_", " "), exc)


def _failed_check(name: str, exc: Error) -> Check:
    reason = " ".join(str(exc).split())
    return bad(name, f"The check could not be made: {reason}", "See the log of the database.")
