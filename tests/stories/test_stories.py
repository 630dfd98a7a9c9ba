"""Weeks of simulated vendors through real Celery and Postgres, and what detection makes of them.

Each story runs once, on a clock that jumps from run to run. Days are those of the story.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta
from itertools import pairwise, takewhile

import pytest

from health.metric_state import DWELL
from health.modes import Mode, fallback_modes
from health.severity import Severity
from probes.outcomes import Metric
from simulators.stories import DAY
from tests.stories.story_runner import StoryEndpoint, StoryRunner, start_stories
from tests.stories.timeline import StoryRun, Timeline, read_timeline

pytestmark = pytest.mark.timeout(900)

MENDED = f"/with/leak-hermes,p=0.2,from={2 * DAY},until={12 * DAY}/openai/v1"
BROKEN = f"/with/leak-hermes,p=0.65,from={2 * DAY},until={5 * DAY}/openai/v1"

# Slug, provider, path, model, TTL in hours, and the day on which the story ends.
ENDPOINTS = (
    StoryEndpoint("healthy", "openai", "/stories/healthy/openai/v1", "sim-steady", 24, 8),
    StoryEndpoint("outage", "anthropic", "/stories/outage/anthropic", "sim-steady", 5, 3.5),
    StoryEndpoint("slow-decay", "qwen", "/stories/slow-decay/qwen/v1", "sim-coder", 24, 14.5),
    StoryEndpoint("lost-replay", "openai", "/stories/lost-replay/relay/v1", "sim-auto", 24, 11.5),
    StoryEndpoint("flapping", "openai", "/stories/flapping/vllm/v1", "sim-steady", 6, 8),
    StoryEndpoint("mended", "openai", MENDED, "sim-steady", 24, 16),
    StoryEndpoint("broken", "openai", BROKEN, "sim-steady", 24, 10),
)

# The events of incidents, in this order, each between two days. How often the watch warns before,
# and whether an incident escalates in several steps, is random.
MILESTONES = ("opened", "release_wanted", "released", "eased", "recovered")
EXPECTED: Mapping[str, Sequence[tuple[str, float, float]]] = {
    "healthy": [],
    "outage": [],
    # Leaks begin on day 5; on day 14.3 four calls in ten leak.
    "slow-decay": [("opened", 5, 14.3)],
    "lost-replay": [("opened", 10, 11.3)],
    # A fifth of the calls leak for ten days, until day 12.
    "mended": [("opened", 2, 8), ("eased", 12, 15.2), ("recovered", 12, 15.7)],
    # Two calls in three leak for three days; its fallback modes end only after a release.
    "broken": [
        ("opened", 2, 3.5),
        ("release_wanted", 5, 8),
        ("released", 5, 8),
        ("eased", 5, 8.5),
        ("eased", 5, 9),
        ("recovered", 5, 9.5),
    ],
}


@pytest.fixture(scope="module")
def runner(
    django_db_setup: None, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[StoryRunner]:
    with start_stories(ENDPOINTS, tmp_path_factory.mktemp("stories")) as runner:
        runner.run_stories()
        yield runner


@pytest.fixture(scope="module")
def timelines(runner: StoryRunner) -> dict[str, Timeline]:
    return {endpoint.slug: read_timeline(runner, endpoint.slug) for endpoint in ENDPOINTS}


@pytest.mark.parametrize("slug", EXPECTED)
def test_a_story_has_the_expected_milestones(slug: str, timelines: dict[str, Timeline]) -> None:
    """Every milestone comes in order and between its days, and there is no other."""
    events = timelines[slug].events_of(*MILESTONES)

    assert [event.kind for event in events] == [kind for kind, _, _ in EXPECTED[slug]]
    for event, (_, first, last) in zip(events, EXPECTED[slug], strict=True):
        assert first <= event.day <= last, event


@pytest.mark.parametrize("slug", EXPECTED)
def test_a_profile_begins_with_a_burst_and_freezes_its_baseline(
    slug: str, timelines: dict[str, Timeline]
) -> None:
    """Twenty runs, five to twelve minutes apart and the first one full, freeze the baseline."""
    story = timelines[slug]
    burst = story.runs[:20]

    assert {run.trigger for run in burst} == {"baseline"}
    assert [run.suite for run in burst] == ["full"] + ["light"] * 19
    assert all(5 <= minutes <= 12 for minutes in _minutes_between(burst))
    frozen = {event.metric: event.run for event in story.events_of("frozen")}
    assert frozen["parse_success"] == burst[-1].id


def test_a_healthy_endpoint_has_no_incidents(timelines: dict[str, Timeline]) -> None:
    """No warning, mode or notice, and after the burst only runs by TTL."""
    story = timelines["healthy"]

    assert {event.kind for event in story.events} == {"frozen"}
    assert (story.switches, story.notice_kinds) == ([], [])
    assert {(run.trigger, run.suite) for run in story.runs[20:]} == {("ttl", "light")}


def test_an_outage_is_no_degradation(timelines: dict[str, Timeline]) -> None:
    """Its runs have no verdict and count only for availability."""
    story = timelines["outage"]
    down = [run for run in story.runs if run.state == "failed"]

    assert down
    assert all(2.25 <= run.day < 2.5 for run in down)
    assert {(run.answered, run.trials) for run in down} == {(0, None)}
    assert {run.answered == run.planned for run in story.runs if run not in down} == {True}
    assert {event.kind for event in story.events} == {"frozen"}
    assert (story.switches, story.notice_kinds) == ([], [])


@pytest.mark.parametrize("slug", ["slow-decay", "mended", "broken"])
def test_a_warning_is_followed_by_confirmation_runs(
    slug: str, timelines: dict[str, Timeline]
) -> None:
    """Four full runs, minutes apart, and fewer only if the alarm is decided earlier."""
    story = timelines[slug]
    decided = {event.run for event in story.events_of("opened", "calmed")}

    assert story.events_of("warned")
    for warned in story.events_of("warned"):
        first, *later = (run for run in story.runs if run.id >= warned.run)
        confirming = list(takewhile(lambda run: run.trigger == "confirm", later))
        assert confirming[-1].id in decided or len(confirming) == 4 or confirming == later
        assert {run.suite for run in confirming} == {"full"}
        assert all(5 <= minutes <= 10 for minutes in _minutes_between([first, *confirming]))


def test_an_incident_and_its_modes_escalate_with_the_decay(timelines: dict[str, Timeline]) -> None:
    """Severity never falls while leaks increase, and the modes on are those it requires."""
    story = timelines["slow-decay"]
    (incident,) = story.incidents
    severities = [event.severity or 0 for event in story.events_of("opened", "escalated")]

    assert severities == sorted(set(severities))
    assert (incident.metric, incident.severity) == ("parse_success", severities[-1])
    assert incident.severity >= Severity.S2
    on = {Mode(switch.mode) for switch in story.switches if switch.off is None}
    assert on == fallback_modes(Metric.PARSE_SUCCESS, Severity(incident.severity))
    assert len(story.switches) == len(on), "no mode was switched off on the way"


def test_a_lost_replay_opens_an_incident_with_the_first_run(timelines: dict[str, Timeline]) -> None:
    """A refusal needs no statistics: no warning, no confirmation, and modes are on at once."""
    story = timelines["lost-replay"]
    (incident,) = story.incidents

    assert incident.run == next(run for run in story.runs if run.day >= 10).id
    assert (incident.metric, incident.refused) == ("reasoning_replay_error", True)
    assert story.events_of("warned") == []
    assert "confirm" not in {run.trigger for run in story.runs}
    assert {(switch.mode, switch.on) for switch in story.switches} == {
        ("verbatim_history", incident.opened),
        ("no_tools", incident.opened),
    }


def test_flapping_opens_few_incidents(timelines: dict[str, Timeline]) -> None:
    """At most half as many as the rule "the last run was below 0.9" would open on the same runs.

    There are at most four in eight days, because each lasts twice as long as the one before.
    """
    story = timelines["flapping"]
    naive = sum(now.is_below and not before.is_below for before, now in pairwise(story.runs))
    naive += story.runs[0].is_below

    assert naive >= 2
    assert len(story.incidents) <= min(4, naive / 2)
    for number, incident in enumerate(story.incidents):
        if incident.ended is not None:
            assert incident.lasted >= 2**number * (DWELL / timedelta(days=1))


def test_recovery_runs_come_four_times_as_often(timelines: dict[str, Timeline]) -> None:
    """While the incident is open, runs come about every six hours with a TTL of a day.

    Full runs come in between only to confirm a warning of another metric.
    """
    story = timelines["mended"]
    (incident,) = story.incidents
    (recovered,) = story.events_of("recovered")

    during = story.runs_between(incident.run, recovered.run)
    warned = {event.metric for event in story.events_of("warned") if event.run > incident.run}
    kinds = {(run.trigger, run.suite) for run in during}
    assert kinds - {("confirm", "full")} == {("recovery", "light")}
    assert ("confirm", "full") not in kinds or warned - {incident.metric}
    waits = zip(during[1:], _minutes_between(during), strict=True)
    hours = [minutes / 60 for run, minutes in waits if run.trigger == "recovery"]
    assert len(hours) >= 4
    assert all(5.3 <= gap <= 8.8 for gap in hours)
    after = [run.trigger for run in story.runs if run.id > recovered.run]
    assert set(after) <= {"ttl"}
    assert incident.lasted >= DWELL / timedelta(days=1)


def test_modes_are_switched_off_one_step_at_a_time(timelines: dict[str, Timeline]) -> None:
    """The modes of the most severe step end first, and each step is another run."""
    story = timelines["broken"]
    off = {switch.mode: switch.off for switch in story.switches}
    eased, milder, recovered = (e.day for e in story.events_of("eased", "recovered"))

    assert eased < milder < recovered
    assert off == {
        "no_tools": eased,
        "read_only_tools": milder,
        "strong_validation": recovered,
        "no_streaming_tools": recovered,
    }


def test_notices_of_a_recovery_come_in_order(timelines: dict[str, Timeline]) -> None:
    """Opened, maybe escalated, a decision requested if it was severe, eased, recovered."""
    mild = [kind for kind in timelines["mended"].notice_kinds if kind != "incident.escalated"]
    severe = [kind for kind in timelines["broken"].notice_kinds if kind != "incident.escalated"]

    assert mild == ["incident.opened", "mode.changed", "incident.recovered"]
    assert severe == [
        "incident.opened",
        "decision.wanted",
        "mode.changed",
        "mode.changed",
        "incident.recovered",
    ]


def test_replaying_all_runs_gives_the_same_watch(runner: StoryRunner) -> None:
    """The stored state of the watch is only a cache."""
    compared = json.loads(runner.python(_REPLAY))

    assert compared == {endpoint.slug: True for endpoint in ENDPOINTS}


def _minutes_between(runs: Sequence[StoryRun]) -> list[float]:
    return [(later.day - earlier.day) * 24 * 60 for earlier, later in pairwise(runs)]


_REPLAY = """
import json
from dashboard.models import Endpoint, Watch
from dashboard.trust import detection
profiles = {endpoint.slug: endpoint.profile for endpoint in Endpoint.objects.all()}
print(json.dumps({
    slug: bool(profile.runs.count())
    and detection.replay_watch(profile) == Watch.objects.state_of(profile)
    for slug, profile in profiles.items()
}))
"""
