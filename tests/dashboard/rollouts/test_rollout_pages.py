from __future__ import annotations

from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.db.models.functions import Now
from django.test import Client
from django.test.utils import CaptureQueriesContext

from dashboard.models import Endpoint, Profile, RolloutRequest
from dashboard.models.people import Role, Team
from dashboard.trust import modes, rollout_requests
from dashboard.trust.gate_facts import read_gate_results
from health.modes import Mode
from tests.dashboard.incidents.builders import freeze_baseline
from tests.dashboard.rollouts.profile_builders import (
    ease_gates,
    make_ready,
    make_request,
    swap_template,
)
from tests.factories import make_endpoint, make_person
from tests.markup import assert_contains, assert_not_contains

HTMX = {"HX-Request": "true"}
HOSTILE = "<script>alert(1)</script>\u202e"


@pytest.fixture
def bob(person: User) -> User:
    return make_person("bob", Role.APPROVER)


@pytest.fixture
def ready(person: User) -> Endpoint:
    ease_gates()
    return make_ready()


@pytest.fixture
def asked(ready: Endpoint, person: User) -> RolloutRequest:
    return make_request(ready, person)


def as_(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


def test_the_list_tells_what_waits_what_may_be_asked_for_and_what_not_yet(
    signed_in: Client, person: User, bob: User
) -> None:
    """Each profile is in one list, with what is missing; each person reads what they may do."""
    ease_gates()
    make_request(make_ready(slug="asked"), person, reason=HOSTILE)
    make_ready(slug="ready")
    make_endpoint(slug="fresh")
    swap_template(make_ready(slug="swapped"))

    mine, theirs = signed_in.get("/rollouts/"), as_(bob).get("/rollouts/")

    assert_contains(mine, "1 request waits for a decision")
    assert_contains(mine, "You asked for it: somebody else decides.")
    assert_contains(mine, "&lt;script&gt;alert(1)&lt;/script&gt;⟦U+202E⟧")
    assert_contains(theirs, "You may decide")
    slugs = [row.endpoint.slug for row in mine.context["ready"]]
    assert slugs == ["ready", "swapped"]
    assert [row.is_new for row in mine.context["ready"]] == [False, True]
    (fresh,) = mine.context["not_yet"]
    assert fresh.endpoint.slug == "fresh"
    assert "Nobody has measured yet" in fresh.missing
    assert_contains(mine, "Ask for ready")
    assert_not_contains(theirs, "Ask for ready")


def test_many_profiles_cost_as_many_queries_as_few(signed_in: Client, person: User) -> None:
    """The list reads all profiles at once; what it reads is what a single look finds."""
    ease_gates()
    first = make_ready(slug="first")
    swap_template(make_ready(slug="swapped"))
    make_endpoint(slug="fresh")
    signed_in.get("/rollouts/")
    with CaptureQueriesContext(connection) as few:
        signed_in.get("/rollouts/")
    for number in range(4):
        make_request(make_ready(slug=f"asked-{number}"), person)
        make_ready(slug=f"ready-{number}")
    with CaptureQueriesContext(connection) as many:
        signed_in.get("/rollouts/")

    assert len(many) <= len(few) + 1
    profiles = list(Profile.objects.filter(ended_at=None))
    listed = read_gate_results([*profiles, *profiles])
    for profile in profiles:
        assert (
            rollout_requests.read_gate_result(profile).missing == listed.result_of(profile).missing
        )
    assert listed.is_ready(first.profile)


def test_whoever_asked_reads_why_they_cannot_approve(asked: RolloutRequest, person: User) -> None:
    """Not even an approver who asked gets a button, and sending the form anyway is refused."""
    alone = make_person("carol", Role.OPERATOR, Role.APPROVER)
    rollout_requests.withdraw(asked, by=person)
    own = make_request(asked.profile.endpoint, alone)
    client = as_(alone)

    page = client.get(f"/rollouts/{own.pk}/")
    sent = client.post(f"/rollouts/{own.pk}/decide/", {"verdict": "approve", "reason": "me too"})

    assert_contains(page, "You asked for it: somebody else decides.")
    assert_not_contains(page, 'value="approve"')
    assert_contains(sent, "Whoever asked may not approve")
    own.refresh_from_db()
    assert own.state == "pending"


def test_the_page_shows_all_that_a_decision_needs(asked: RolloutRequest, bob: User) -> None:
    """The reason, both sides, the gate with links, figures with trials, and what it is bound to."""
    page = as_(bob).get(asked.get_absolute_url())

    assert_contains(page, "May steady go from Shadow to Read only?")
    assert_contains(page, "it holds")
    assert_contains(page, "After approval callers get tools that read, and no others.")
    assert_contains(page, "200/200")
    assert_contains(page, "All conditions are met: it may be asked for.")
    assert_contains(page, f"/runs/{asked.evidence['runs'][-1]}/")
    assert_contains(page, bytes(asked.digest).hex()[:16])
    assert_contains(page, "tool-probe-v1")
    assert_contains(page, 'value="approve"')


def test_of_two_approvers_the_second_reads_the_decision_of_the_first(
    asked: RolloutRequest, bob: User, signed_in: Client
) -> None:
    """The first decides, the second gets the page with the name of the first, and 200."""
    second = as_(make_person("dora", Role.APPROVER))
    given = {"verdict": "approve", "reason": HOSTILE}

    first = as_(bob).post(f"/rollouts/{asked.pk}/decide/", given, follow=True)
    late = second.post(f"/rollouts/{asked.pk}/decide/", {**given, "verdict": "reject"})

    assert_contains(first, "Asked for by alice, approved by bob.")
    assert_contains(late, "bob has approved it already.")
    assert_contains(late, "&lt;script&gt;alert(1)&lt;/script&gt;⟦U+202E⟧")
    assert_not_contains(late, 'value="approve"')
    assert Profile.objects.get().stage == "read_only"
    past = signed_in.get("/rollouts/?state=approved&person=bob&endpoint=steady")
    assert_contains(past, "Shadow → Read only")
    assert_contains(signed_in.get("/rollouts/?state=rejected"), "No past request fits")


def test_the_page_moves_with_the_request(asked: RolloutRequest, bob: User) -> None:
    """Nothing moved is 204; a decision replaces the form; nothing is decided by looking."""
    client = as_(bob)
    seen = client.get(asked.get_absolute_url()).context["look"].seen
    address = f"{asked.get_absolute_url()}?seen={seen}"

    assert client.get(address, headers=HTMX).status_code == 204
    assert client.get(f"/rollouts/{asked.pk}/decide/?verdict=approve").status_code == 405
    rollout_requests.reject(asked, by=bob, reason="not today")
    moved = client.get(address, headers=HTMX)

    assert moved.headers["HX-Retarget"] == "#request"
    assert_not_contains(moved, "<html")
    assert_contains(moved, "rejected by bob")


def test_a_decision_needs_a_verdict_and_a_reason(asked: RolloutRequest, bob: User) -> None:
    """What is missing is said beside its field, and nothing is decided."""
    client, address = as_(bob), f"/rollouts/{asked.pk}/decide/"

    assert_contains(client.post(address, {"verdict": "approve", "reason": " "}), "Say why")
    assert_contains(client.post(address, {"reason": "x"}), "approve or reject")
    assert RolloutRequest.objects.get().state == "pending"


def test_rights_and_teams_hold(asked: RolloutRequest, bob: User) -> None:
    """A viewer reads and decides nothing; another team's people find nothing at all."""
    team = Team.objects.create(name="blue")
    Endpoint.objects.update(team=Team.objects.create(name="red"))
    viewer, stranger = (
        make_person("vera", Role.VIEWER),
        make_person("sam", Role.APPROVER, team=team),
    )
    decide = {"verdict": "approve", "reason": "x"}

    assert_contains(as_(viewer).get(asked.get_absolute_url()), "Approvers decide on it")
    assert as_(viewer).post(f"/rollouts/{asked.pk}/decide/", decide).status_code == 403
    assert as_(viewer).post("/endpoints/steady/rollout/", {"reason": "x"}).status_code == 403
    assert as_(viewer).get("/endpoints/steady/step-back/").status_code == 403
    assert as_(bob).post("/endpoints/steady/rollout/", {"reason": "x"}).status_code == 403
    assert as_(stranger).get(asked.get_absolute_url()).status_code == 404
    assert as_(stranger).post(f"/rollouts/{asked.pk}/decide/", decide).status_code == 404
    assert_not_contains(as_(stranger).get("/rollouts/"), "steady")
    assert RolloutRequest.objects.get().state == "pending"


def test_a_void_request_says_what_changed_and_an_expired_one_that_nobody_came(
    asked: RolloutRequest, bob: User, person: User
) -> None:
    """Neither can be decided on any more."""
    modes.switch_on(asked.profile, Mode.NO_PARALLEL, by=person, reason="careful")
    void = as_(bob).get(asked.get_absolute_url())
    again = make_request(asked.profile.endpoint, person)
    RolloutRequest.objects.filter(pk=again.pk).update(expires_at=Now() - timedelta(hours=1))
    late = as_(bob).post(f"/rollouts/{again.pk}/decide/", {"verdict": "approve", "reason": "x"})

    assert_contains(void, "What had changed")
    assert_contains(void, "no_parallel")
    assert_not_contains(void, 'value="approve"')
    assert_contains(late, "The request has run out; ask again.")
    assert_contains(late, "Nobody decided in time.")


def test_an_operator_asks_in_the_panel_and_takes_it_back(
    signed_in: Client, ready: Endpoint
) -> None:
    """Asking leads to the request; a refusal keeps what was typed; the asker may withdraw."""
    page = signed_in.get("/endpoints/steady/")
    empty = signed_in.post("/endpoints/steady/rollout/", {"reason": " "}, headers=HTMX)
    sent = signed_in.post("/endpoints/steady/rollout/", {"reason": "ready"}, headers=HTMX)
    twice = signed_in.post("/endpoints/steady/rollout/", {"reason": "ready too"}, headers=HTMX)

    assert_contains(page, "Ask for Read only…")
    assert_contains(empty, "Say why")
    found = RolloutRequest.objects.get()
    assert sent.headers["HX-Redirect"] == found.get_absolute_url()
    assert_contains(twice, "alice has asked for it already")
    assert_contains(signed_in.get("/endpoints/steady/"), "alice asks for Read only.")
    done = signed_in.post(f"/rollouts/{found.pk}/withdraw/", {"reason": ""}, follow=True)
    assert_contains(done, "Asked for by alice, and taken back.")


def test_nobody_asks_for_a_profile_that_they_have_not_seen(
    signed_in: Client, ready: Endpoint
) -> None:
    """The key changed after the page was opened: the new profile is another one."""
    page = signed_in.get("/endpoints/steady/")
    swap_template(ready)
    given = {"reason": "ready", "profile": "1"}
    answer = signed_in.post("/endpoints/steady/rollout/", given, headers=HTMX)

    assert_contains(page, '<input type="hidden" name="profile" value="1">')
    assert_contains(answer, "The key has changed since you opened this page")
    assert not RolloutRequest.objects.exists()


def test_a_profile_that_waits_is_seen_beside_the_one_in_force(
    signed_in: Client, ready: Endpoint, person: User, bob: User
) -> None:
    """The endpoint's page shows both; the decision warns of what callers would lose."""
    swap_template(ready)

    page = signed_in.get("/endpoints/steady/")
    request = make_request(ready, person)
    decision = as_(bob).get(request.get_absolute_url())

    assert_contains(page, "Two profiles: one in force, one on its way")
    assert_contains(page, "the policy follows it")
    assert_contains(page, "Profile 2 waits beside it, at Shadow")
    assert_contains(page, "b" * 12)
    assert_contains(decision, "May profile 2 of steady go from Shadow to Read only?")
    assert_contains(decision, "Approving takes something away.")
    assert_contains(decision, "Profile 1")


def test_the_fleet_tells_what_somebody_may_decide_on(
    signed_in: Client, ready: Endpoint, person: User, bob: User
) -> None:
    """Approvers are asked in the fleet, whoever asked is not; a waiting profile has a mark."""
    swap_template(ready)
    request = make_request(ready, person)

    mine, theirs = signed_in.get("/"), as_(bob).get("/")

    assert_contains(theirs, "alice asks: Shadow → Read only")
    assert_contains(theirs, f'href="{request.get_absolute_url()}"')
    assert_not_contains(mine, "alice asks")
    assert_contains(mine, "new: shadow")
    (row,) = mine.context["sections"][0].rows
    assert (row.summary.endpoint.stage, row.summary.endpoint.waiting_stage) == ("full", "shadow")


def test_one_person_steps_back_at_once_or_rejects(
    signed_in: Client, ready: Endpoint, bob: User
) -> None:
    """Only tighter stages are offered, to operators and approvers alike."""
    Profile.objects.update(stage="write")
    address = "/endpoints/steady/step-back/"

    form = signed_in.get(address)
    none = signed_in.post(address, {"reason": "x"})
    looser = signed_in.post(address, {"to": "full", "reason": "x"})
    done = signed_in.post(address, {"to": "read_only", "reason": "it stumbles"}, follow=True)

    assert_contains(form, 'value="read_only"')
    assert_not_contains(form, 'value="full"')
    assert_contains(form, 'value="reject"')
    assert_contains(none, "Choose how far it goes back.")
    assert looser.status_code == 200
    assert_contains(done, "It is stepped back to Read only.")
    assert Profile.objects.get().stage == "read_only"
    for somebody in (signed_in, as_(bob)):
        Profile.objects.update(stage="read_only")
        given = {"to": "reject", "reason": "we do not want it"}
        assert_contains(somebody.post(address, given, follow=True), "Profile 1 is rejected.")
        assert Profile.objects.get().stage == "rejected"


def test_a_pinned_mode_is_let_go_of_by_two(signed_in: Client, person: User, bob: User) -> None:
    """The card pins and asks; the same page of a request decides on it."""
    freeze_baseline(make_endpoint())
    card = "/endpoints/steady/modes/"
    given = {"mode": "no_tools", "reason": "audit", "lasts": "none", "pinned": "on"}

    pinned = signed_in.post(card, given, headers=HTMX)
    switch = Profile.objects.get().switches.get(mode="no_tools", incident=None)
    undone = signed_in.post(f"{card}{switch.pk}/off/", headers=HTMX)
    sent = signed_in.post(f"{card}{switch.pk}/release/", {"reason": HOSTILE}, headers=HTMX)
    found = RolloutRequest.objects.get()
    page = as_(bob).get(found.get_absolute_url())
    done = {"verdict": "approve", "reason": "over"}
    decided = as_(bob).post(f"/rollouts/{found.pk}/decide/", done, follow=True)

    assert_contains(pinned, "no_tools is pinned.")
    assert_contains(pinned, "Ask for release…")
    assert_contains(undone, "no_tools is pinned. Ask for its release")
    assert_contains(sent, "Asked to let go of no_tools.")
    assert_contains(sent, found.get_absolute_url())
    assert_contains(page, "May no_tools be let go of on steady?")
    assert_contains(page, "&lt;script&gt;alert(1)&lt;/script&gt;⟦U+202E⟧")
    assert_contains(decided, "approved by bob")
    switch.refresh_from_db()
    assert switch.off_at is not None
