"""Weeks of the simulated vendors through real Celery and Postgres, and what detection made of them.

Each part is played once, on a clock that jumps from run to run. Days are those of the story.
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
from tests.stories.story_stage import Part, Stage, play_on_stage
from tests.stories.timeline import RunMade, Timeline, read_timeline

pytestmark = pytest.mark.timeout(900)

MENDED = f"/with/leak-hermes,p=0.2,from={2 * DAY},until={12 * DAY}/openai/v1"
BROKEN = f"/with/leak-hermes,p=0.65,from={2 * DAY},until={5 * DAY}/openai/v1"

# slug, provider, address, model, TTL in hours, and the day on which the part is over
PARTS = (
    Part("healthy", "openai", "/stories/healthy/openai/v1", "sim-steady", 24, 8),
    Part("outage", "anthropic", "/stories/outage/anthropic", "sim-steady", 5, 3.5),
    Part("slow-decay", "qwen", "/stories/slow-decay/qwen/v1", "sim-coder", 24, 14.5),
    Part("lost-replay", "openai", "/stories/lost-replay/relay/v1", "sim-auto", 24, 11.5),
    Part("flapping", "openai", "/stories/flapping/vllm/v1", "sim-steady", 6, 8),
    Part("mended", "openai", MENDED, "sim-steady", 24, 16),
    Part("broken", "openai", BROKEN, "sim-steady", 24, 10),
)

# What becomes of incidents, in this order, each between two days. How often the watch warns
# before, and whether an incident grows worse in several steps, is chance.
MILESTONES = ("opened", "release_wanted", "released", "eased", "recovered")
EXPECTED: Mapping[str, Sequence[tuple[str, float, float]]] = {
    "healthy": [],
    "outage": [],
    # Leaks begin on day 5; on day 14.3 four calls in ten leak.
    "slow-decay": [("opened", 5, 14.3)],
    "lost-replay": [("opened", 10, 11.3)],
    # A fifth of the calls leak for ten days, until day 12.
    "mended": [("opened", 2, 8), ("eased", 12, 15.2), ("recovered", 12, 15.7)],
    # Two calls in three leak for three days; nobody trusts it again without being told to.
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
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    with play_on_stage(PARTS, tmp_path_factory.mktemp("stories")) as stage:
        stage.play()
        yield stage


@pytest.fixture(scope="module")
def told(stage: Stage) -> dict[str, Timeline]:
    return {part.slug: read_timeline(stage, part.slug) for part in PARTS}


@pytest.mark.parametrize("slug", EXPECTED)
def test_a_story_has_the_timeline_that_is_expected(slug: str, told: dict[str, Timeline]) -> None:
    """Every milestone in its order and between its days, and no other."""
    seen = told[slug].noticed(*MILESTONES)

    assert [event.kind for event in seen] == [kind for kind, _, _ in EXPECTED[slug]]
    for event, (_, first, last) in zip(seen, EXPECTED[slug], strict=True):
        assert first <= event.day <= last, event


@pytest.mark.parametrize("slug", EXPECTED)
def test_a_profile_begins_with_a_burst_and_freezes_its_baseline(
    slug: str, told: dict[str, Timeline]
) -> None:
    """Twenty runs, five to twelve minutes apart, the first of them full; then normal is known."""
    story = told[slug]
    burst = story.runs[:20]

    assert {run.trigger for run in burst} == {"baseline"}
    assert [run.suite for run in burst] == ["full"] + ["light"] * 19
    assert all(5 <= minutes <= 12 for minutes in _minutes_between(burst))
    frozen = {event.metric: event.run for event in story.noticed("frozen")}
    assert frozen["parse_success"] == burst[-1].id


def test_a_healthy_endpoint_is_left_alone(told: dict[str, Timeline]) -> None:
    """No warning, no mode, no notice, and after the burst only what its TTL asks for."""
    story = told["healthy"]

    assert {event.kind for event in story.events} == {"frozen"}
    assert (story.switches, story.told) == ([], [])
    assert {(run.trigger, run.suite) for run in story.runs[20:]} == {("ttl", "light")}


def test_an_outage_is_no_degradation(told: dict[str, Timeline]) -> None:
    """Its runs have no verdict and count for nothing but availability."""
    story = told["outage"]
    down = [run for run in story.runs if run.state == "failed"]

    assert down
    assert all(2.25 <= run.day < 2.5 for run in down)
    assert {(run.answered, run.trials) for run in down} == {(0, None)}
    assert {run.answered == run.asked for run in story.runs if run not in down} == {True}
    assert {event.kind for event in story.events} == {"frozen"}
    assert (story.switches, story.told) == ([], [])


@pytest.mark.parametrize("slug", ["slow-decay", "mended", "broken"])
def test_a_warning_is_followed_by_runs_that_settle_it(slug: str, told: dict[str, Timeline]) -> None:
    """Four full runs, minutes apart, and fewer only where the case was clear before."""
    story = told[slug]
    settled = {event.run for event in story.noticed("opened", "calmed")}

    assert story.noticed("warned")
    for warned in story.noticed("warned"):
        first, *later = (run for run in story.runs if run.id >= warned.run)
        confirming = list(takewhile(lambda run: run.trigger == "confirm", later))
        assert confirming[-1].id in settled or len(confirming) == 4 or confirming == later
        assert {run.suite for run in confirming} == {"full"}
        assert all(5 <= minutes <= 10 for minutes in _minutes_between([first, *confirming]))


def test_an_incident_grows_with_the_decay_and_so_do_its_modes(told: dict[str, Timeline]) -> None:
    """Severity never falls while calls leak ever more often; what is on is what it asks for."""
    story = told["slow-decay"]
    (incident,) = story.incidents
    severities = [event.severity or 0 for event in story.noticed("opened", "escalated")]

    assert severities == sorted(set(severities))
    assert (incident.metric, incident.severity) == ("parse_success", severities[-1])
    assert incident.severity >= Severity.S2
    on = {Mode(switch.mode) for switch in story.switches if switch.off is None}
    assert on == fallback_modes(Metric.PARSE_SUCCESS, Severity(incident.severity))
    assert len(story.switches) == len(on), "nothing was let go on the way"


def test_a_lost_replay_acts_with_the_first_run_that_sees_it(told: dict[str, Timeline]) -> None:
    """A refusal needs no statistics: no warning, no confirmation, modes on in the same moment."""
    story = told["lost-replay"]
    (incident,) = story.incidents

    assert incident.run == next(run for run in story.runs if run.day >= 10).id
    assert (incident.metric, incident.refused) == ("reasoning_replay_error", True)
    assert story.noticed("warned") == []
    assert "confirm" not in {run.trigger for run in story.runs}
    assert {(switch.mode, switch.on) for switch in story.switches} == {
        ("verbatim_history", incident.opened),
        ("no_tools", incident.opened),
    }


def test_flapping_gives_few_entries(told: dict[str, Timeline]) -> None:
    """At most half of those that "the last run was below 0.9" makes of the same runs.

    Nor can there be more than four in eight days: each lasts twice as long as the one before.
    """
    story = told["flapping"]
    naive = sum(now.is_below and not before.is_below for before, now in pairwise(story.runs))
    naive += story.runs[0].is_below

    assert naive >= 2
    assert len(story.incidents) <= min(4, naive / 2)
    for number, incident in enumerate(story.incidents):
        if incident.ended is not None:
            assert incident.lasted >= 2**number * (DWELL / timedelta(days=1))


def test_recovery_is_looked_for_at_four_times_the_pace(told: dict[str, Timeline]) -> None:
    """While the incident is open, runs come about every six hours of a TTL of a day."""
    story = told["mended"]
    (incident,) = story.incidents
    (left,) = story.noticed("recovered")

    looking = story.between(incident.run, left.run)
    assert {(run.trigger, run.suite) for run in looking} == {("recovery", "light")}
    hours = [minutes / 60 for minutes in _minutes_between(looking)]
    assert all(5.3 <= gap <= 8.8 for gap in hours)
    after = [run.trigger for run in story.runs if run.id > left.run]
    assert set(after) <= {"ttl"}
    assert incident.lasted >= DWELL / timedelta(days=1)


def test_modes_are_let_go_one_step_at_a_time(told: dict[str, Timeline]) -> None:
    """What the severest step switched on goes first, and each step is another run."""
    story = told["broken"]
    off = {switch.mode: switch.off for switch in story.switches}
    eased, milder, recovered = (e.day for e in story.noticed("eased", "recovered"))

    assert eased < milder < recovered
    assert off == {
        "no_tools": eased,
        "read_only_tools": milder,
        "strong_validation": recovered,
        "no_streaming_tools": recovered,
    }


def test_what_is_told_of_a_recovery_comes_in_order(told: dict[str, Timeline]) -> None:
    """Opened, perhaps grown worse, a decision wanted where it was severe, eased, recovered."""
    mild = [kind for kind in told["mended"].told if kind != "incident.escalated"]
    severe = [kind for kind in told["broken"].told if kind != "incident.escalated"]

    assert mild == ["incident.opened", "mode.changed", "incident.recovered"]
    assert severe == [
        "incident.opened",
        "decision.wanted",
        "mode.changed",
        "mode.changed",
        "incident.recovered",
    ]


def test_replaying_all_runs_gives_the_same_watch(stage: Stage) -> None:
    """The state that the runs left behind one by one is only a cache."""
    compared = json.loads(stage.python(_REPLAY))

    assert compared == {part.slug: True for part in PARTS}


def _minutes_between(runs: Sequence[RunMade]) -> list[float]:
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
