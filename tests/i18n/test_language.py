"""Pages follow the reader's language, everything else is English."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import translation

from dashboard.core import durations
from dashboard.core.labels import (
    DELIVERIES,
    FINDINGS,
    INCIDENTS,
    OUTCOMES,
    PROBES,
    RISKS,
    RUN_STATES,
    STAGES,
    STATUSES,
    TRIGGERS,
    Labels,
    code_label,
    probe_error_text,
)
from dashboard.models import Notice, Policy
from dashboard.models.notification import Delivery
from dashboard.models.people import Role
from dashboard.models.run import State, Trigger
from dashboard.models.watch import Incident
from dashboard.people.services import tokens
from dashboard.templatetags.core import day, minute, second
from dashboard.trust import detection, modes
from health import translation as wording
from health.metric_names import degradation_headline
from health.modes import Mode
from health.policy import RISKS_BY_STAGE as ALL_STAGES
from health.risk import Risk
from health.status import Status
from probes.errors import TargetError
from probes.outcomes import FindingKind, Metric, Outcome
from probes.suite import PROBES as ALL_PROBES
from tests.dashboard.incidents.builders import degrade
from tests.factories import make_endpoint, make_person
from tests.markup import assert_contains

PAGE = "/settings/system/"
CHINESE = "zh-hans"


@pytest.fixture
def reader(client: Client, db: None, static_files: Path) -> Client:
    """A person whose browser prefers Chinese."""
    client.defaults["HTTP_ACCEPT_LANGUAGE"] = "zh-CN,zh;q=0.9,en;q=0.5"
    client.force_login(make_person("alice", Role.OPERATOR))
    return client


def test_pages_speak_the_language_of_the_browser(reader: Client) -> None:
    """The page declares its language, for screen readers and for fonts."""
    page = reader.get(PAGE)

    assert_contains(page, '<html lang="zh-hans">')
    assert_contains(page, "<h1>系统</h1>")


@pytest.mark.parametrize("accept_language", ["en-GB", "fr", "", "zz;q=x"])
def test_other_browsers_get_english(reader: Client, accept_language: str) -> None:
    """English is the fallback."""
    page = reader.get(PAGE, headers={"accept-language": accept_language})

    assert_contains(page, '<html lang="en">')
    assert_contains(page, "<h1>System</h1>")


def test_a_chosen_language_stays(reader: Client) -> None:
    """The choice overrides the browser, and redirects back to the same page."""
    page = "http://testserver/compare/?span=24h"
    answer = reader.post("/language/", {"language": "en"}, headers={"referer": page})

    assert answer.headers["Location"] == page
    assert_contains(reader.get(PAGE), "<h1>System</h1>")


def test_a_choice_leads_to_no_other_site(reader: Client) -> None:
    """A forged form must not redirect people to another site."""
    elsewhere = "https://elsewhere.example/"
    form = {"language": "en", "next": elsewhere}
    answer = reader.post("/language/", form, headers={"referer": elsewhere})

    assert answer.headers["Location"] == "/"


def test_the_sign_in_page_can_be_switched(client: Client, db: None, static_files: Path) -> None:
    """The language can be changed before signing in."""
    chinese = 'value="zh-hans" lang="zh-hans" translate="no">简体中文<'
    assert_contains(client.get("/login/"), chinese)

    client.post("/language/", {"language": CHINESE})

    page = client.get("/login/")
    assert_contains(page, '<html lang="zh-hans">')
    assert_contains(page, 'value="en" lang="en" translate="no">English<')


def test_what_programs_read_is_english(reader: Client) -> None:
    """Names and errors of the API are English, whatever language the client prefers."""
    degrade(make_endpoint())
    token = tokens.issue_token(name="ci", scopes=["read"], by=None).text
    bearer = {"authorization": f"Bearer {token}"}

    incidents = reader.get("/api/v1/incidents", headers=bearer)
    refused = reader.get("/api/v1/incidents", headers={"authorization": "Bearer none"})

    assert_contains(incidents, "Parse success fell from 100% to")
    assert_contains(refused, "This API token is not known.", status_code=401)


def test_files_are_english(reader: Client) -> None:
    """A file may be passed on to any person or program."""
    make_endpoint()

    text = reader.get("/compare/export/?tab=capabilities&format=csv").content.decode()

    assert "unknown" in text
    assert text.isascii()


def test_what_is_stored_is_english_whoever_caused_it(reader: Client) -> None:
    """Rows and notices have other readers than the person who caused them."""
    endpoint, person = make_endpoint(), User.objects.get()
    with translation.override(CHINESE):
        incident = degrade(endpoint)
        modes.switch_on(endpoint.profile, Mode.NO_TOOLS, by=person, reason="test")
        headline = detection.incident_headline(incident)

    bodies = [str(notice.body) for notice in Notice.objects.all()]
    reasons = list(endpoint.profile.switches.values_list("reason", flat=True))
    assert headline.startswith("解析成功率从 100% 降至")
    assert len(bodies) > 1
    assert all(text.isascii() for text in [*bodies, *reasons, str(Policy.objects.get().body)])


def test_findings_are_told_as_whole_sentences() -> None:
    """The word order follows the language."""
    with translation.override(CHINESE):
        headline = degradation_headline(Metric.SCHEMA_FAILURE, 0.95, 0.7)

    assert headline == "Schema 失败率从 5% 升至 30%"


def test_errors_of_the_protocol_library_are_told_with_their_facts() -> None:
    """The library does not translate; it keeps the sentence and its parameters apart."""
    error = TargetError("There is no provider {name}.", name="'acme'")

    with translation.override(CHINESE):
        text = probe_error_text(error)

    assert (text, error.message) == ("没有 'acme' 这个供应商。", "There is no provider 'acme'.")


def test_days_are_written_as_the_language_writes_them() -> None:
    """The order of day and month follows the language."""
    moment = datetime(2026, 11, 3, 9, 5, 7, tzinfo=UTC)
    with translation.override(CHINESE):
        chinese = [day(moment), minute(moment), second(moment)]

    assert chinese == ["2026年11月3日", "2026年11月3日 09:05", "2026年11月3日 09:05:07"]
    assert [day(moment), minute(moment)] == ["3 Nov 2026", "3 Nov 2026 09:05"]


def test_for_all_is_english_only_as_long_as_asked() -> None:
    """Afterwards the reader's language applies again."""
    with translation.override(CHINESE):
        with wording.in_english():
            inside = wording.say("just now")
        after = wording.say("just now")

    assert (inside, after) == ("just now", "刚刚")


@pytest.mark.parametrize(
    ("span", "text"),
    [
        (timedelta(seconds=2), "刚刚"),
        (timedelta(minutes=5), "5 分钟前"),
        (timedelta(days=-3), "3 天后"),
    ],
)
def test_times_are_told_in_chinese(span: timedelta, text: str) -> None:
    """The server and the page's script use the same texts."""
    with translation.override(CHINESE):
        assert durations.format_relative_time(span) == text


@pytest.mark.parametrize(
    ("labels", "codes"),
    [
        (DELIVERIES, Delivery.State.values),
        (FINDINGS, list(FindingKind)),
        (INCIDENTS, Incident.State.values),
        (OUTCOMES, list(Outcome)),
        (PROBES, list(ALL_PROBES)),
        (RISKS, list(Risk)),
        (RUN_STATES, State.values),
        (STAGES, list(ALL_STAGES)),
        (STATUSES, list(Status)),
        (TRIGGERS, Trigger.values),
    ],
    ids=lambda value: "" if isinstance(value, list) else next(iter(value)),
)
def test_every_code_has_words(labels: Labels, codes: list[str]) -> None:
    """Every code has a label, and every label has a code."""
    assert set(labels) == set(map(str, codes))


def test_a_code_of_strangers_is_shown_as_it_is() -> None:
    """Codes that an endpoint sent are not translated."""
    assert code_label("system_fingerprint") == "system fingerprint"
