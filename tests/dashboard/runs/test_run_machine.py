"""Runs are never lost, duplicated or written without a lease, in any sequence of steps.

The examples are the same every time; `./run test --all` runs more of them.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.conf import settings as django_settings
from django.db.models import F
from django.db.models.functions import Now
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    consumes,
    initialize,
    multiple,
    precondition,
    rule,
    run_state_machine_as_test,
)

from dashboard.core.sql import fetch_row
from dashboard.models import Endpoint, Run, Watch
from dashboard.models.run import HELD, PRIORITIES, Trigger
from dashboard.runs import attempts, schedule
from dashboard.runs import services as runs
from dashboard.runs.services import Lease
from dashboard.trust import detection, profiles
from dashboard.trust import finish as results
from probes.adapters import adapter_for
from probes.fingerprint import MOST_REQUESTS, MOST_TOKENS, EngineFacts
from probes.messages import Usage
from probes.outcomes import Evidence, Metric, Outcome, Verdict
from probes.suite import plan_trials
from probes.suite.sampling import estimate_price
from probes.target import Provider
from tests.dashboard.runs.builders import build_attempt
from tests.dashboard.runs.run_machine import PROVIDERS, RunMachine, due_endpoint_ids, provider_cap
from tests.dashboard.runs.run_model import LEASE, Holding, recount
from tests.extent import EXTENT

# Index of the trial in the plan, outcome, usage, and whether the call came as text.
Answer = tuple[int, Outcome, Usage, bool]
ANSWERS: st.SearchStrategy[Answer] = st.tuples(
    st.integers(0, 99),
    st.sampled_from(Outcome),
    st.sampled_from([Usage(), Usage(10, 5)]),
    st.booleans(),
)
TEMPLATES = st.sampled_from(["", "a" * 64, "b" * 64])
# No budget, too little, just enough for one run, and plenty.
RUN_REQUESTS = {
    suite: estimate_price(plan_trials(suite)).requests + MOST_REQUESTS
    for suite in ("light", "full")
}
BUDGETS = st.sampled_from([None, 10, RUN_REQUESTS["light"] + 2, RUN_REQUESTS["full"] + 2, 400])
ENDPOINTS = st.integers(0, len(PROVIDERS) - 1)
DUTIES = ("reap", "retire_unserved", "schedule_due", "claim_wakeups")
SHORT, LONG, DAY = timedelta(minutes=40), timedelta(hours=7), timedelta(days=1)
TEXT = (Verdict(Metric.PARSE_SUCCESS, good=False, parser="hermes"),)
# Opens an incident at once, unless the first run of the profile has the same result.
REFUSED = (Verdict(Metric.CLOSURE_ERROR, good=False),) * 2


class Runs(RunMachine):
    leases: Bundle[Lease] = Bundle("leases")

    @initialize(target=leases, budget=BUDGETS)
    def begin_as_workers_do(self, budget: int | None) -> Any:
        """Start with active runs, which most faults need."""
        self.change(self.endpoint_ids[0], daily_requests=budget)
        self.schedule_due()
        return multiple(self.claim("a"), self.begin("b"))

    @rule(
        number=ENDPOINTS,
        suite=st.sampled_from(["light", "full"]),
        trigger=st.sampled_from([Trigger.MANUAL, Trigger.API]),
    )
    def request(self, number: int, suite: str, trigger: Trigger) -> None:
        endpoint = self.endpoint(number)
        before = self.active(endpoint)

        run = runs.request_run(endpoint, by=None, suite=suite, trigger=trigger)

        assert before is None or before.pk == run.pk
        if run.state == "queued":
            assert run.priority <= PRIORITIES[trigger]

    @rule(duties=st.sampled_from([DUTIES, ("reap",), ("schedule_due",)]))
    def scheduler_pass(self, duties: tuple[str, ...]) -> None:
        """The duties of beat and of every worker's timer, or one of them."""
        for duty in duties:
            getattr(self, duty)()

    def schedule_due(self) -> None:
        waiting = due_endpoint_ids()

        queued = schedule.schedule_due()

        self.separate_waits(Run.objects.filter(state="queued", not_before=F("created_at")))
        assert queued == len(waiting)
        assert not waiting & due_endpoint_ids(), "due, and nothing comes of it"

    def claim_wakeups(self, limit: int = 2) -> None:
        run_ids = schedule.claim_wakeups(limit)

        assert len(run_ids) <= limit
        assert Run.objects.filter(pk__in=run_ids, state="queued").count() == len(run_ids)
        assert not set(run_ids) & set(schedule.claim_wakeups(limit)), "a second wake-up too early"

    @rule(target=leases, owner=st.sampled_from(["a", "b", "c"]))
    def claim(self, owner: str) -> Any:
        claimable = self.claimable()

        lease = runs.claim_run(owner=owner)

        if lease is None:
            assert not claimable, "a run can be claimed, but was not"
            return multiple()
        assert claimable[lease.run_id] == min(claimable.values())
        endpoint = Endpoint.objects.get(slug=lease.slug)
        self.model.holders[lease.run_id] = Holding(lease, endpoint.pk)
        return lease

    @rule(target=leases, owner=st.sampled_from(["a", "b", "c"]))
    def begin(self, owner: str) -> Any:
        if isinstance(lease := self.claim(owner), Lease):
            self.start(lease)
        return lease

    @rule(
        target=leases,
        template=TEMPLATES,
        answers=st.lists(ANSWERS, max_size=4),
        is_whole=st.booleans(),
    )
    def execute(self, template: str, answers: list[Answer], is_whole: bool) -> Any:
        """A complete execution by a worker, or one up to its crash."""
        if not isinstance(lease := self.begin("d"), Lease):
            return lease
        self.note_engine(lease, template, "b1")
        for answer in answers:
            self.record(lease, answer)
        if is_whole:
            self.finish(lease)
        return lease

    @rule(target=leases, short=st.integers(0, 1))
    def begin_at_the_limit(self, short: int) -> Any:
        """The budget is exactly enough for the run, or one request short."""
        if isinstance(lease := self.claim("f"), Lease):
            run = Run.objects.get(pk=lease.run_id)
            room = self.spent(run.endpoint_id)[0] + self.remaining_cost(run)[0] - short
            self.change(run.endpoint_id, daily_requests=room, daily_tokens=None)
            self.start(lease)
        return lease

    @rule(target=leases)
    def take_over(self) -> Any:
        """All leases expire, and other workers take over the runs."""
        self.pass_time(LONG)
        for holding in list(self.model.holders.values()):
            self.renew(holding.lease)
        self.scheduler_pass(DUTIES)
        self.pass_time(LONG)
        return multiple(*(lease for _ in PROVIDERS if isinstance(lease := self.begin("e"), Lease)))

    @rule(lease=leases)
    def start(self, lease: Lease) -> None:
        holding = self.model.live_holding(lease)
        if not holding or holding.is_running:
            with self.refused():
                runs.start_run(lease)
            return
        run = Run.objects.select_related("endpoint").get(pk=lease.run_id)
        fits, cost, remaining = self.fits(run), self.remaining_cost(run), self.remaining_trials(run)

        work = runs.start_run(lease)

        assert (work is not None) == fits, "the day's budget was not held"
        run.refresh_from_db()
        if work is None:
            del self.model.holders[run.pk]
            assert run.state == "failed"
            return
        assert (run.reserved_requests, run.reserved_tokens) == cost
        assert (work.trials, work.needs_engine_facts) == (
            remaining,
            run.pk not in self.engine_known,
        )
        holding.is_running, holding.asks_engine = True, work.needs_engine_facts

    @rule(answers=st.lists(ANSWERS, min_size=1, max_size=3))
    def record_all(self, answers: list[Answer]) -> None:
        """All lease holders record attempts."""
        for holding in list(self.model.holders.values()):
            for answer in answers:
                self.record(holding.lease, answer)

    @rule(lease=leases, answer=ANSWERS)
    def record(self, lease: Lease, answer: Answer) -> None:
        pick, outcome, usage, is_text = answer
        run = Run.objects.get(pk=lease.run_id)
        trials = plan_trials(run.suite)
        trial = trials[pick % len(trials)]
        price = estimate_price([trial])
        over: dict[str, Any] = {"facts": {"formats": [wire_format(run)]}}
        if is_text and outcome is Outcome.FAIL:
            over = {"verdicts": TEXT, "facts": {"formats": ["hermes"]}}
        elif outcome is Outcome.FAIL and pick % 2:
            over["verdicts"] = REFUSED
        exchanges = tuple({"request": {"n": n}} for n in range(1 + pick % price.requests))
        recorded = build_attempt(
            trial.trial,
            outcome,
            probe=trial.probe,
            usage=usage,
            evidence=Evidence(exchanges),
            **over,
        )
        holding = self.model.live_holding(lease)
        if not holding or not holding.is_running:
            with self.refused():
                attempts.record_attempt(lease, recorded)
            return

        attempts.record_attempt(lease, recorded)

        holding.time_left = LEASE
        key = (run.pk, trial.probe, trial.trial)
        if key in self.model.attempts:
            return
        row = fetch_row(_ATTEMPT, dict(zip(("run", "probe", "trial"), key, strict=True)))
        assert row
        assert row[0] == lease.token
        self.model.attempts[key], self.model.stored[key] = recorded, row[1]
        silent = 0 if outcome is Outcome.VOID else price.tokens
        tokens = sum((usage.input_tokens or 0, usage.output_tokens or 0)) or silent
        self.model.pay(holding.endpoint_id, self.reserved_on(lease), (len(exchanges), tokens))

    @rule(lease=leases)
    def renew(self, lease: Lease) -> None:
        holding = self.model.live_holding(lease)
        if not holding:
            with self.refused():
                runs.renew_lease(lease)
            return
        runs.renew_lease(lease)
        holding.time_left = LEASE

    @rule(lease=leases)
    def finish(self, lease: Lease) -> None:
        # An expired lease that was not revoked yet may still finish: no other worker has the run.
        holding = self.model.holding(lease)
        if not holding or not holding.is_running:
            with self.refused():
                results.finish_run(lease)
            return

        results.finish_run(lease)

        del self.model.holders[lease.run_id]
        recorded = self.model.run_attempts(lease.run_id)
        run = Run.objects.get(pk=lease.run_id)
        self.model.finished[run.pk] = recount(recorded, wire_format(run))
        outcomes = {attempt.outcome for attempt in recorded}
        assert run.state == ("finished" if outcomes - {Outcome.VOID} else "failed")
        assert run.passed + run.failed + run.void == run.done
        profile = run.profile
        assert detection.replay_watch(profile) == Watch.objects.state_of(profile)

    @rule(lease=leases)
    def fail(self, lease: Lease) -> None:
        runs.fail_run(lease, reason="cannot be probed")
        if self.model.holding(lease):
            del self.model.holders[lease.run_id]

    @rule(number=ENDPOINTS, back=st.integers(0, 2))
    def cancel(self, number: int, back: int) -> None:
        latest = list(self.endpoint(number).runs.newest_first()[: back + 1])
        if not latest:
            return
        run = latest[-1]

        assert runs.cancel_run(run, by="ann") == run.is_active

        self.model.holders.pop(run.pk, None)

    def reap(self) -> None:
        dead = self.model.expired()

        assert schedule.reap_expired_leases() == len(dead)

        self.separate_waits(Run.objects.filter(state="queued", pk__in=dead))
        for run_id in dead:
            del self.model.holders[run_id]

    @rule(number=ENDPOINTS)
    def older_release(self, number: int) -> None:
        """A queued run has a suite version that no worker has any more."""
        untouched = self.endpoint(number).runs.filter(state="queued", claims=0)
        untouched.update(suite_version="tool-probe-v0", created_at=Now() - 2 * LEASE)

    def retire_unserved(self) -> None:
        old = Run.objects.filter(state="queued", suite_version="tool-probe-v0").count()

        assert schedule.retire_unserved_runs() == old

    @rule(number=ENDPOINTS, model=st.sampled_from(["m", "n"]))
    def edit_key(self, number: int, model: str) -> None:
        endpoint_id = self.endpoint_ids[number]
        key = self.model.keys[endpoint_id]
        if is_changed := key.model != model:
            key.follow(model, "")
            self.model.revoke(endpoint_id)

        assert self.change(endpoint_id, model=model) == is_changed

    @rule(lease=leases, template=TEMPLATES, engine=st.sampled_from(["b1", "b2"]))
    def note_engine(self, lease: Lease, template: str, engine: str) -> None:
        holding = self.model.live_holding(lease)
        if not holding or not holding.is_running:
            with self.refused():
                profiles.record_engine_facts(lease, EngineFacts(template, {"engine": engine}))
            return
        if not holding.asks_engine:
            return
        key, day = self.model.keys[holding.endpoint_id], self.reserved_on(lease)

        is_same_key = profiles.record_engine_facts(lease, EngineFacts(template, {"engine": engine}))

        assert is_same_key == (not template or key.template in ("", template))
        if is_same_key:
            key.template, holding.asks_engine = template or key.template, False
            self.engine_known.add(lease.run_id)
            self.model.pay(holding.endpoint_id, day, (MOST_REQUESTS, MOST_TOKENS))
        else:
            key.follow(key.model, template)
            self.model.revoke(holding.endpoint_id)

    @rule(
        number=ENDPOINTS,
        requests=BUDGETS,
        tokens=st.sampled_from([None, 100_000, 1_000_000]),
    )
    def edit_budget(self, number: int, requests: int | None, tokens: int | None) -> None:
        self.change(self.endpoint_ids[number], daily_requests=requests, daily_tokens=tokens)

    @rule(number=ENDPOINTS, enabled=st.booleans())
    def switch(self, number: int, enabled: bool) -> None:
        self.change(self.endpoint_ids[number], enabled=enabled)

    @rule(most=st.integers(1, 3), alone=st.sampled_from([{}, {"openai": 1}, {"anthropic": 2}]))
    def set_caps(self, most: int, alone: dict[str, int]) -> None:
        django_settings.PROVIDER_RUNS = most
        django_settings.PROVIDER_RUNS_EXCEPT = alone

    @rule(span=st.sampled_from([SHORT, LONG, DAY]), is_last_chance=st.booleans())
    def time_passes(self, span: timedelta, is_last_chance: bool) -> None:
        """Time passes, and active runs may reach their maximum of claims."""
        if is_last_chance:
            Run.objects.filter(state__in=HELD).update(max_claims=F("claims"))
        self.pass_time(span)

    @rule(lease=consumes(leases))
    def crash(self, lease: Lease) -> None:
        """A worker dies, and its lease is never used again."""

    @precondition(lambda self: self.steps >= 25)
    @rule()
    def calm(self) -> None:
        """Once faults end, every endpoint gets a verdict."""
        self.steps = 0
        self.set_caps(3, {})
        for id_ in self.endpoint_ids:
            self.change(id_, enabled=True, daily_requests=None, daily_tokens=None)
        self.pass_time(DAY)
        self.reap()
        self.retire_unserved()
        assert provider_cap("openai") >= len(PROVIDERS)
        # The second run fails where the first passed, which opens an incident.
        for outcome in (Outcome.PASS, Outcome.FAIL):
            self.pass_time(DAY)
            self.schedule_due()
            verdicts = {self._verdict(outcome) for _ in PROVIDERS}
            assert verdicts == set(self.endpoint_ids)
        assert runs.claim_run(owner="calm") is None

    def _verdict(self, outcome: Outcome) -> int:
        lease = self.claim("calm")
        assert isinstance(lease, Lease)
        self.start(lease)
        run = Run.objects.get(pk=lease.run_id)
        self.record(lease, (len(plan_trials(run.suite)) | 1, outcome, Usage(10, 5), False))
        self.finish(lease)
        return run.endpoint_id


@pytest.mark.timeout(600)
def test_any_sequence_of_steps_keeps_every_promise(db: None) -> None:
    """All invariants of leases, slots, budgets, attempts, figures and epochs hold at each step."""
    run_state_machine_as_test(
        Runs,
        settings=settings(
            max_examples=EXTENT.run_machine_examples,
            stateful_step_count=40,
            derandomize=True,
            database=None,
            phases=[Phase.generate, Phase.shrink],
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )


def wire_format(run: Run) -> str:
    return adapter_for(Provider(run.provider)).format


_ATTEMPT = """
SELECT token, a::text FROM dashboard_attempt a
WHERE run_id = %(run)s AND probe = %(probe)s AND trial = %(trial)s
"""
