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
from dashboard.trust.settle import settle
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
def pending(ready: Endpoint, person: User) -> RolloutRequest:
    return make_request(ready, person)


def sign_in(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


def test_the_list_has_pending_requests_and_candidates(
    signed_in: Client, person: User, bob: User
) -> None:
    """Each profile is in one list, with what is missing; each user sees what they may do."""
    ease_gates()
    make_request(make_ready(slug="asked"), person, reason=HOSTILE)
    make_ready(slug="ready")
    make_endpoint(slug="fresh")
    swap_template(make_ready(slug="swapped"))

    own, approver = signed_in.get("/rollouts/"), sign_in(bob).get("/rollouts/")

    assert_contains(own, "1 request waits for a decision")
    assert_contains(own, "You asked for it: somebody else decides.")
    assert_contains(own, "&lt;script&gt;alert(1)&lt;/script&gt;⟦U+202E⟧")
    assert_contains(approver, "You may decide")
    slugs = [row.endpoint.slug for row in own.context["ready"]]
    assert slugs == ["ready", "swapped"]
    assert [row.is_new for row in own.context["ready"]] == [False, True]
    (fresh,) = own.context["not_ready"]
    assert fresh.endpoint.slug == "fresh"
    assert "Nobody has measured yet" in fresh.missing
    assert_contains(own, "Ask for ready")
    assert_not_contains(approver, "Ask for ready")


def test_many_profiles_cost_as_many_queries_as_few(signed_in: Client, person: User) -> None:
    """The list reads all profiles at once, with the same results as for one profile."""
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
    results = read_gate_results([*profiles, *profiles])
    for profile in profiles:
        assert (
            rollout_requests.read_gate_result(profile).missing == results.result_of(profile).missing
        )
    assert results.is_ready(first.profile)


def test_whoever_asked_reads_why_they_cannot_approve(pending: RolloutRequest, person: User) -> None:
    """A requester who is an approver gets no button, and a submitted form is refused."""
    carol = make_person("carol", Role.OPERATOR, Role.APPROVER)
    rollout_requests.withdraw(pending, by=person)
    own = make_request(pending.profile.endpoint, carol)
    client = sign_in(carol)

    page = client.get(f"/rollouts/{own.pk}/")
    refused = client.post(f"/rollouts/{own.pk}/decide/", {"verdict": "approve", "reason": "me too"})

    assert_contains(page, "You asked for it: somebody else decides.")
    assert_not_contains(page, 'value="approve"')
    assert_contains(refused, "Whoever asked may not approve")
    own.refresh_from_db()
    assert own.state == "pending"


def test_the_page_shows_everything_a_decision_needs(pending: RolloutRequest, bob: User) -> None:
    """The reason, the diff, the gate with links, rates with trials, and the bound evidence."""
    page = sign_in(bob).get(pending.get_absolute_url())

    assert_contains(page, "May steady go from Shadow to Read only?")
    assert_contains(page, "it holds")
    assert_contains(page, "After approval callers get tools that read, and no others.")
    assert_contains(page, "200/200")
    assert_contains(page, "All conditions are met: it may be asked for.")
    assert_contains(page, f"/runs/{pending.evidence['runs'][-1]}/")
    assert_contains(page, bytes(pending.digest).hex()[:16])
    assert_contains(page, "tool-probe-v2")
    assert_contains(page, 'value="approve"')


def test_of_two_approvers_the_second_reads_the_decision_of_the_first(
    pending: RolloutRequest, bob: User, signed_in: Client
) -> None:
    """The second approver gets the page with the name of the first, and status 200."""
    second = sign_in(make_person("dora", Role.APPROVER))
    data = {"verdict": "approve", "reason": HOSTILE}

    first = sign_in(bob).post(f"/rollouts/{pending.pk}/decide/", data, follow=True)
    late = second.post(f"/rollouts/{pending.pk}/decide/", {**data, "verdict": "reject"})

    assert_contains(first, "Asked for by alice, approved by bob.")
    assert_contains(late, "bob has approved it already.")
    assert_contains(late, "&lt;script&gt;alert(1)&lt;/script&gt;⟦U+202E⟧")
    assert_not_contains(late, 'value="approve"')
    assert Profile.objects.get().stage == "read_only"
    past = signed_in.get("/rollouts/?state=approved&person=bob&endpoint=steady")
    assert_contains(past, "Shadow → Read only")
    assert_contains(signed_in.get("/rollouts/?state=rejected"), "No past request fits")


def test_the_page_follows_the_request(pending: RolloutRequest, bob: User) -> None:
    """No change gives 204; a decision replaces the form; GET decides nothing."""
    client = sign_in(bob)
    seen = client.get(pending.get_absolute_url()).context["page"].state_mark
    address = f"{pending.get_absolute_url()}?seen={seen}"

    assert client.get(address, headers=HTMX).status_code == 204
    assert client.get(f"/rollouts/{pending.pk}/decide/?verdict=approve").status_code == 405
    rollout_requests.reject(pending, by=bob, reason="not today")
    changed = client.get(address, headers=HTMX)

    assert changed.headers["HX-Retarget"] == "#request"
    assert_not_contains(changed, "<html")
    assert_contains(changed, "rejected by bob")


def test_a_decision_needs_a_verdict_and_a_reason(pending: RolloutRequest, bob: User) -> None:
    """What is missing is shown beside its field, and the request stays pending."""
    client, address = sign_in(bob), f"/rollouts/{pending.pk}/decide/"

    assert_contains(client.post(address, {"verdict": "approve", "reason": " "}), "Say why")
    assert_contains(client.post(address, {"reason": "x"}), "approve or reject")
    assert RolloutRequest.objects.get().state == "pending"


def test_rights_and_teams_are_enforced(pending: RolloutRequest, bob: User) -> None:
    """A viewer can read but not decide; users of another team get 404."""
    team = Team.objects.create(name="blue")
    Endpoint.objects.update(team=Team.objects.create(name="red"))
    viewer, stranger = (
        make_person("vera", Role.VIEWER),
        make_person("sam", Role.APPROVER, team=team),
    )
    decide = {"verdict": "approve", "reason": "x"}

    assert_contains(sign_in(viewer).get(pending.get_absolute_url()), "Approvers decide on it")
    assert sign_in(viewer).post(f"/rollouts/{pending.pk}/decide/", decide).status_code == 403
    assert sign_in(viewer).post("/endpoints/steady/rollout/", {"reason": "x"}).status_code == 403
    assert sign_in(viewer).get("/endpoints/steady/step-back/").status_code == 403
    assert sign_in(bob).post("/endpoints/steady/rollout/", {"reason": "x"}).status_code == 403
    assert sign_in(stranger).get(pending.get_absolute_url()).status_code == 404
    assert sign_in(stranger).post(f"/rollouts/{pending.pk}/decide/", decide).status_code == 404
    assert_not_contains(sign_in(stranger).get("/rollouts/"), "steady")
    assert RolloutRequest.objects.get().state == "pending"


def test_a_voided_request_shows_the_change_and_an_expired_one_its_expiry(
    pending: RolloutRequest, bob: User, person: User
) -> None:
    """Neither can be decided."""
    modes.switch_on(pending.profile, Mode.NO_PARALLEL, by=person, reason="careful")
    void = sign_in(bob).get(pending.get_absolute_url())
    again = make_request(pending.profile.endpoint, person)
    RolloutRequest.objects.filter(pk=again.pk).update(expires_at=Now() - timedelta(hours=1))
    late = sign_in(bob).post(f"/rollouts/{again.pk}/decide/", {"verdict": "approve", "reason": "x"})

    assert_contains(void, "What had changed")
    assert_contains(void, "no_parallel")
    assert_not_contains(void, 'value="approve"')
    assert_contains(late, "The request has run out; ask again.")
    assert_contains(late, "Nobody decided in time.")


def test_an_operator_requests_in_the_panel_and_withdraws(
    signed_in: Client, ready: Endpoint
) -> None:
    """A request redirects to its page; a refusal keeps the typed reason; withdrawing ends it."""
    page = signed_in.get("/endpoints/steady/")
    empty = signed_in.post("/endpoints/steady/rollout/", {"reason": " "}, headers=HTMX)
    sent = signed_in.post("/endpoints/steady/rollout/", {"reason": "ready"}, headers=HTMX)
    twice = signed_in.post("/endpoints/steady/rollout/", {"reason": "ready too"}, headers=HTMX)

    assert_contains(page, "Ask for Read only…")
    assert_contains(empty, "Say why")
    request = RolloutRequest.objects.get()
    assert sent.headers["HX-Redirect"] == request.get_absolute_url()
    assert_contains(twice, "alice has asked for it already")
    assert_contains(signed_in.get("/endpoints/steady/"), "alice asks for Read only.")
    done = signed_in.post(f"/rollouts/{request.pk}/withdraw/", {"reason": ""}, follow=True)
    assert_contains(done, "Asked for by alice, and taken back.")


def test_a_request_for_an_outdated_profile_is_refused(signed_in: Client, ready: Endpoint) -> None:
    """The key changed after the page was opened, so the form is of the old profile."""
    page = signed_in.get("/endpoints/steady/")
    swap_template(ready)
    data = {"reason": "ready", "profile": "1"}
    refused = signed_in.post("/endpoints/steady/rollout/", data, headers=HTMX)

    assert_contains(page, '<input type="hidden" name="profile" value="1">')
    assert_contains(refused, "The key has changed since you opened this page")
    assert not RolloutRequest.objects.exists()


def test_a_candidate_is_shown_beside_the_profile_in_force(
    signed_in: Client, ready: Endpoint, person: User, bob: User
) -> None:
    """The page of the endpoint shows both; the request warns of what callers would lose."""
    swap_template(ready)

    page = signed_in.get("/endpoints/steady/")
    request = make_request(ready, person)
    decision = sign_in(bob).get(request.get_absolute_url())

    assert_contains(page, "Two profiles: one in force, one on its way")
    assert_contains(page, "the policy follows it")
    assert_contains(page, "Profile 2 waits beside it, at Shadow")
    assert_contains(page, "b" * 12)
    assert_contains(decision, "May profile 2 of steady go from Shadow to Read only?")
    assert_contains(decision, "Approving lowers the stage, from ")
    assert_contains(decision, "Profile 1")


def test_a_candidate_of_the_operator_warns_of_lost_tools(
    signed_in: Client, ready: Endpoint, person: User, bob: User
) -> None:
    """The old target keeps its tools until the promotion, which then takes some away."""
    candidate = swap_template(ready)
    Profile.objects.filter(pk=candidate.pk).update(model="another")
    settle(ready)
    request = make_request(ready, person)

    decision = sign_in(bob).get(request.get_absolute_url())

    assert_contains(decision, "Approving takes something away.")


def test_the_fleet_lists_decisions_for_approvers(
    signed_in: Client, ready: Endpoint, person: User, bob: User
) -> None:
    """The requester does not see the decision; a candidate profile has a tag."""
    swap_template(ready)
    request = make_request(ready, person)

    own, approver = signed_in.get("/"), sign_in(bob).get("/")

    assert_contains(approver, "alice asks: Shadow → Read only")
    assert_contains(approver, f'href="{request.get_absolute_url()}"')
    assert_not_contains(own, "alice asks")
    assert_contains(own, "new: shadow")
    (row,) = own.context["sections"][0].rows
    assert (row.summary.endpoint.stage, row.summary.endpoint.waiting_stage) == ("full", "shadow")


def test_one_person_steps_back_at_once_or_rejects(
    signed_in: Client, ready: Endpoint, bob: User
) -> None:
    """Operators and approvers choose among tighter stages only."""
    Profile.objects.update(stage="write")
    address = "/endpoints/steady/step-back/"

    form = signed_in.get(address)
    no_choice = signed_in.post(address, {"reason": "x"})
    looser = signed_in.post(address, {"to": "full", "reason": "x"})
    done = signed_in.post(address, {"to": "read_only", "reason": "it stumbles"}, follow=True)

    assert_contains(form, 'value="read_only"')
    assert_not_contains(form, 'value="full"')
    assert_contains(form, 'value="reject"')
    assert_contains(no_choice, "Choose how far it goes back.")
    assert looser.status_code == 200
    assert_contains(done, "It is stepped back to Read only.")
    assert Profile.objects.get().stage == "read_only"
    for client in (signed_in, sign_in(bob)):
        Profile.objects.update(stage="read_only")
        data = {"to": "reject", "reason": "we do not want it"}
        assert_contains(client.post(address, data, follow=True), "Profile 1 is rejected.")
        assert Profile.objects.get().stage == "rejected"


def test_a_pinned_mode_is_released_by_two_people(
    signed_in: Client, person: User, bob: User
) -> None:
    """One person pins and requests the release; another approves it."""
    freeze_baseline(make_endpoint())
    card = "/endpoints/steady/modes/"
    data = {"mode": "no_tools", "reason": "audit", "lasts": "none", "pinned": "on"}

    pinned = signed_in.post(card, data, headers=HTMX)
    switch = Profile.objects.get().switches.get(mode="no_tools", incident=None)
    refused = signed_in.post(f"{card}{switch.pk}/off/", headers=HTMX)
    sent = signed_in.post(f"{card}{switch.pk}/release/", {"reason": HOSTILE}, headers=HTMX)
    request = RolloutRequest.objects.get()
    page = sign_in(bob).get(request.get_absolute_url())
    decision = {"verdict": "approve", "reason": "over"}
    decided = sign_in(bob).post(f"/rollouts/{request.pk}/decide/", decision, follow=True)

    assert_contains(pinned, "no_tools is pinned.")
    assert_contains(pinned, "Ask for release…")
    assert_contains(refused, "no_tools is pinned. Ask for its release")
    assert_contains(sent, "Asked to let go of no_tools.")
    assert_contains(sent, request.get_absolute_url())
    assert_contains(page, "May no_tools be let go of on steady?")
    assert_contains(page, "&lt;script&gt;alert(1)&lt;/script&gt;⟦U+202E⟧")
    assert_contains(decided, "approved by bob")
    switch.refresh_from_db()
    assert switch.off_at is not None
