"""Who reads what: pages follow the reader, everything else is English."""

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
    """A person whose browser asks for Chinese."""
    client.defaults["HTTP_ACCEPT_LANGUAGE"] = "zh-CN,zh;q=0.9,en;q=0.5"
    client.force_login(make_person("alice", Role.OPERATOR))
    return client


def test_pages_speak_the_language_of_the_browser(reader: Client) -> None:
    """And say so, for screen readers and for the type."""
    page = reader.get(PAGE)

    assert_contains(page, '<html lang="zh-hans">')
    assert_contains(page, "<h1>系统</h1>")


@pytest.mark.parametrize("asked", ["en-GB", "fr", "", "zz;q=x"])
def test_other_browsers_get_english(reader: Client, asked: str) -> None:
    """Of two languages English is the one that more people read."""
    page = reader.get(PAGE, headers={"accept-language": asked})

    assert_contains(page, '<html lang="en">')
    assert_contains(page, "<h1>System</h1>")


def test_a_chosen_language_stays(reader: Client) -> None:
    """The choice wins over the browser, and leads back to the page on which it was made."""
    page = "http://testserver/compare/?span=24h"
    answer = reader.post("/language/", {"language": "en"}, headers={"referer": page})

    assert answer.headers["Location"] == page
    assert_contains(reader.get(PAGE), "<h1>System</h1>")


def test_a_choice_leads_to_no_other_site(reader: Client) -> None:
    """The form of a stranger must not send people away."""
    elsewhere = "https://elsewhere.example/"
    form = {"language": "en", "next": elsewhere}
    answer = reader.post("/language/", form, headers={"referer": elsewhere})

    assert answer.headers["Location"] == "/"


def test_the_sign_in_page_can_be_switched(client: Client, db: None, static_files: Path) -> None:
    """Who cannot read it has not signed in yet."""
    chinese = 'value="zh-hans" lang="zh-hans" translate="no">简体中文<'
    assert_contains(client.get("/login/"), chinese)

    client.post("/language/", {"language": CHINESE})

    page = client.get("/login/")
    assert_contains(page, '<html lang="zh-hans">')
    assert_contains(page, 'value="en" lang="en" translate="no">English<')


def test_what_programs_read_is_english(reader: Client) -> None:
    """Whatever language whoever asks prefers: names and refusals of the API alike."""
    degrade(make_endpoint())
    token = tokens.issue_token(name="ci", scopes=["read"], by=None).text
    bearer = {"authorization": f"Bearer {token}"}

    incidents = reader.get("/api/v1/incidents", headers=bearer)
    refused = reader.get("/api/v1/incidents", headers={"authorization": "Bearer none"})

    assert_contains(incidents, "Parse success fell from 100% to")
    assert_contains(refused, "This API token is not known.", status_code=401)


def test_files_are_english(reader: Client) -> None:
    """A file is passed on to people and programs that nobody knows."""
    make_endpoint()

    text = reader.get("/compare/export/?tab=capabilities&format=csv").content.decode()

    assert "unknown" in text
    assert text.isascii()


def test_what_is_stored_is_english_whoever_caused_it(reader: Client) -> None:
    """Rows and notices are read by others than the one whose click made them."""
    endpoint, person = make_endpoint(), User.objects.get()
    with translation.override(CHINESE):
        incident = degrade(endpoint)
        modes.switch_on(endpoint.profile, Mode.NO_TOOLS, by=person, reason="test")
        shown = detection.headline_of(incident)

    bodies = [str(notice.body) for notice in Notice.objects.all()]
    reasons = list(endpoint.profile.switches.values_list("reason", flat=True))
    assert shown.startswith("解析成功率从 100% 降至")
    assert len(bodies) > 1
    assert all(text.isascii() for text in [*bodies, *reasons, str(Policy.objects.get().body)])


def test_findings_are_told_as_whole_sentences() -> None:
    """With the words in the order of the language."""
    with translation.override(CHINESE):
        said = degradation_headline(Metric.SCHEMA_FAILURE, 0.95, 0.7)

    assert said == "Schema 失败率从 5% 升至 30%"


def test_errors_of_the_protocol_library_are_told_with_their_facts() -> None:
    """It knows no languages, and keeps the sentence apart from what stands in it."""
    error = TargetError("There is no provider {name}.", name="'acme'")

    with translation.override(CHINESE):
        said = probe_error_text(error)

    assert (said, error.message) == ("没有 'acme' 这个供应商。", "There is no provider 'acme'.")


def test_days_are_written_as_the_language_writes_them() -> None:
    """The order of day and month is no matter of words alone."""
    moment = datetime(2026, 11, 3, 9, 5, 7, tzinfo=UTC)
    with translation.override(CHINESE):
        chinese = [day(moment), minute(moment), second(moment)]

    assert chinese == ["2026年11月3日", "2026年11月3日 09:05", "2026年11月3日 09:05:07"]
    assert [day(moment), minute(moment)] == ["3 Nov 2026", "3 Nov 2026 09:05"]


def test_for_all_is_english_only_as_long_as_asked() -> None:
    """Afterwards the reader's language is spoken again."""
    with translation.override(CHINESE):
        with wording.in_english():
            inside = wording.say("just now")
        after = wording.say("just now")

    assert (inside, after) == ("just now", "刚刚")


@pytest.mark.parametrize(
    ("span", "words"),
    [
        (timedelta(seconds=2), "刚刚"),
        (timedelta(minutes=5), "5 分钟前"),
        (timedelta(days=-3), "3 天后"),
    ],
)
def test_times_are_told_in_chinese(span: timedelta, words: str) -> None:
    """By the server as by the page's script, which reads the same texts."""
    with translation.override(CHINESE):
        assert durations.format_relative_time(span) == words


@pytest.mark.parametrize(
    ("words", "codes"),
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
def test_every_code_has_words(words: Labels, codes: list[str]) -> None:
    """A new one is not shown as a code by accident, and an old one leaves no words behind."""
    assert set(words) == set(map(str, codes))


def test_a_code_of_strangers_is_shown_as_it_is() -> None:
    """What an endpoint sent is not ours to translate."""
    assert code_label("system_fingerprint") == "system fingerprint"
