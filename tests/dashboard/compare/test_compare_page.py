from __future__ import annotations

import csv
import json
from collections.abc import Callable
from datetime import timedelta
from io import StringIO

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from dashboard.compare.capabilities import abilities, words
from dashboard.compare.queries import Cell, Level
from dashboard.core.safe_csv import records_as_csv
from dashboard.models import Endpoint, Profile, RollupDay
from dashboard.runs.observations import LIVE
from health.rates import metric_rate
from probes.outcomes import Metric
from tests.factories import make_endpoint, make_finished_run, make_rollup
from tests.markup import assert_contains, assert_not_contains

URL = "/compare/"


def test_without_endpoints_the_page_says_how_to_begin(signed_in: Client) -> None:
    """No table of nothing, but a way to the form."""
    page = signed_in.get(URL)

    assert_contains(page, "Nothing to compare yet")
    assert_contains(page, 'href="/endpoints/new/"')


@pytest.mark.parametrize("path", [URL, "/compare/export/"])
def test_anonymous_is_sent_to_the_login(client: Client, db: None, path: str) -> None:
    """Nobody compares without signing in."""
    assert client.get(path).headers["Location"].startswith("/login/")


def test_the_last_run_is_shown_with_its_numbers(signed_in: Client) -> None:
    """A cell has rate, numerator, denominator, interval and a word, and leads to the run."""
    endpoint = make_endpoint()
    make_finished_run(endpoint, passed=1, failed=9)
    run = make_finished_run(endpoint, passed=7, failed=3)

    page = signed_in.get(URL, {"span": "last"})

    assert_contains(page, f'<a href="/runs/{run.pk}/">70%</a>')
    assert_contains(page, '>70%</a> weak</span><span class="sub">7/10<')
    assert_contains(page, "7 of 10; 95 % interval 39%–89%")
    assert_contains(page, "no data", count=len(Metric) - 1 + 1)  # and once in the legend


def test_a_span_adds_up_its_buckets(signed_in: Client) -> None:
    """Hours within the span count, older ones and the live lane do not."""
    endpoint, now = make_endpoint(), timezone.now()
    make_rollup(endpoint, now, trials=10, failures=1)
    make_rollup(endpoint, now - timedelta(hours=5), trials=10, failures=0)
    make_rollup(endpoint, now - timedelta(days=3), trials=10, failures=10)
    make_rollup(endpoint, now, trials=10, failures=10, lane=LIVE)

    day, week = (signed_in.get(URL, {"span": span}) for span in ("24h", "7d"))

    assert_contains(day, '<b>95%</b> fair</span><span class="sub">19/20<')
    assert_contains(week, '<b>63%</b> weak</span><span class="sub">19/30<')


def test_a_month_is_read_from_days(signed_in: Client) -> None:
    """Thirty days come from the day rollups, which are few."""
    make_rollup(
        make_endpoint(), timezone.now() - timedelta(days=20), trials=4, failures=0, table=RollupDay
    )

    assert_contains(
        signed_in.get(URL, {"span": "30d"}), '<b>100%</b> good</span><span class="sub">4/4<'
    )


def test_figures_of_an_earlier_key_are_left_out(signed_in: Client) -> None:
    """Under another key it was another thing: the table is about the present one."""
    endpoint = make_endpoint()
    make_rollup(endpoint, timezone.now(), trials=8, failures=0)
    endpoint.profiles.update(ended_at=timezone.now())
    Profile.objects.create(endpoint=endpoint, epoch=2, key_hash=b"")

    assert_not_contains(signed_in.get(URL), "8/8")


@pytest.mark.parametrize(
    ("metric", "failures", "level"),
    [
        (Metric.PARSE_SUCCESS, 2, Level.GOOD),
        (Metric.PARSE_SUCCESS, 10, Level.FAIR),
        (Metric.SCHEMA_FAILURE, 11, Level.WEAK),
        (Metric.SCHEMA_FAILURE, 51, Level.BAD),
    ],
)
def test_a_level_follows_what_went_well(metric: Metric, failures: int, level: Level) -> None:
    """Whichever way the metric is good, many failures are bad."""
    assert Cell(metric, metric_rate(metric, 100, failures)).level is level


def test_a_level_agrees_with_the_rate_that_is_shown() -> None:
    """What reads 90% is called what the legend calls 90 %."""
    rate = metric_rate(Metric.PARSE_SUCCESS, 276, 28)

    assert f"{rate.value:.0%}" == "90%"
    assert Cell(Metric.PARSE_SUCCESS, rate).level is Level.FAIR


def test_capabilities_are_words_with_their_trials(signed_in: Client) -> None:
    """The other tab says what each endpoint can do, and how many trials say so."""
    entry = {"value": "strict_json_schema", "trials": 12, "agree": 11, "low": 0.65, "high": 0.99}
    make_endpoint().profiles.update(capabilities={"schema_level": entry})

    page = signed_in.get(URL, {"tab": "capabilities"})

    assert_contains(page, "strict json schema")
    assert_contains(page, "11/12")
    assert_contains(page, "11 of 12 trials say so; 95 % interval 65% to 99%.")
    assert_contains(page, "No trial has told yet.")


def test_values_of_every_kind_have_words() -> None:
    """Booleans, lists, maps and nothing at all are readable; hostile text is inert."""
    values: tuple[object, ...] = (True, None, ["auto", "named"], [], {"strict": False}, "a\u202eb")

    said = [words(value) for value in values]

    assert said == ["yes", "unknown", "auto, named", "none", "strict: no", "a⟦U+202E⟧b"]


@pytest.mark.parametrize(("form", "said"), [("openai", "none needed"), ("none", "no calls")])
def test_no_parser_is_known_once_calls_were_seen(form: str, said: str) -> None:
    """Where calls come on the wire, or never, the lack of a parser is no gap."""
    found = {"tool_call_format": {"value": form}, "parser": {"value": None, "trials": 3}}

    assert abilities(found)[1].words == said


def test_two_endpoints_share_a_chart_with_a_finding(signed_in: Client) -> None:
    """The title says who is best and who is worst, the table below has the figures."""
    _pair()

    page = signed_in.get(URL, {"endpoint": ["a", "b"], "range": "7d"})

    assert_contains(page, "Parse success: best 100% (a), worst 40% (b)")
    assert [line["name"] for line in page.context["figure"]["data"]] == ["a", "b"]
    assert_contains(page, "4/10")
    assert_contains(page, 'value="a" checked')


def test_one_endpoint_asks_for_another(signed_in: Client) -> None:
    """A comparison with nobody is none, and the page says what to do."""
    _pair()

    assert_contains(signed_in.get(URL, {"endpoint": "a"}), "Tick one more endpoint")


def test_no_more_than_six_are_drawn(signed_in: Client) -> None:
    """The seventh is left out, and the page says so."""
    slugs = [make_endpoint(slug=f"e-{place}").slug for place in range(7)]

    page = signed_in.get(URL, {"endpoint": slugs})

    assert len(page.context["lines"]) == 6
    assert_contains(page, "the first six are drawn")


def test_the_same_model_across_hosts(signed_in: Client) -> None:
    """One filter leaves the endpoints of a model, and draws them without ticking any."""
    _pair(model="shared")
    make_endpoint(slug="other", model="lonely")

    page = signed_in.get(URL, {"model": "shared"})

    assert [endpoint.slug for endpoint, _ in page.context["rows"]] == ["a", "b"]
    assert [line.endpoint.slug for line, _ in page.context["lines"]] == ["a", "b"]
    assert_contains(signed_in.get(URL), "?model=shared")
    assert_not_contains(signed_in.get(URL), "?model=lonely")


def test_all_of_it_is_in_the_address(signed_in: Client) -> None:
    """Links keep what was chosen, and nonsense is as if it were not asked for."""
    _pair()
    chosen = {"endpoint": ["a", "b"], "metric": "leak", "range": "30d", "span": "24h", "q": "a"}

    page = signed_in.get(URL, chosen)
    odd = signed_in.get(URL, {"tab": "x", "span": "9y", "metric": "\x00", "page": "z", "q": "\x00"})

    wanted = "?tab=capabilities&span=24h&metric=leak&range=30d&q=a&endpoint=a&endpoint=b"
    assert page.context["tabs"][1][1] == wanted
    # b does not fit the search: the form carries its tick along.
    assert_contains(page, '<input type="hidden" name="endpoint" value="b">')
    assert odd.status_code == 200


def test_csv_holds_the_table(signed_in: Client) -> None:
    """Every cell is a line; one without data has no rate."""
    make_finished_run(make_endpoint(slug="e", model="=cmd()"), passed=7, failed=3)

    answer = signed_in.get("/compare/export/", {"span": "last", "format": "csv"})

    lines = list(csv.DictReader(StringIO(answer.content.decode())))
    assert len(lines) == len(Metric)
    assert lines[0]["endpoint"] == "e"
    assert lines[0]["model"] == "'=cmd()"
    assert (lines[0]["trials"], lines[0]["rate"], lines[1]["rate"]) == ("10", "0.7", "")
    assert "toolgauge-compare-metrics.csv" in answer["Content-Disposition"]


def test_json_holds_the_points_of_the_chart(signed_in: Client) -> None:
    """The chart's export has the steps that are drawn."""
    _pair()

    asked = {"endpoint": ["a", "b"], "range": "7d", "what": "chart"}
    found = json.loads(signed_in.get("/compare/export/", asked).content)["rows"]

    assert [(row["endpoint"], row["trials"], row["failures"]) for row in found] == [
        ("a", 10, 0),
        ("b", 10, 6),
    ]


@pytest.mark.parametrize("start", ["=", "+", "-", "@", "\t", "\r"])
def test_no_text_is_a_formula(start: str) -> None:
    """A spreadsheet takes it for text."""
    [line] = csv.DictReader(
        StringIO(records_as_csv([{"model": f"{start}1", "rate": 0.5}]), newline="")
    )

    assert line == {"model": f"'{start}1", "rate": "0.5"}


@pytest.mark.parametrize("asked", [{"span": "last"}, {"span": "7d"}, {"tab": "capabilities"}])
def test_queries_do_not_grow_with_the_fleet(signed_in: Client, asked: dict[str, str]) -> None:
    """Forty endpoints cost as many queries as two, table and chart together."""
    for slug in ("e-0", "e-1"):
        make_finished_run(make_endpoint(slug=slug))
    wanted = {**asked, "endpoint": ["e-0", "e-1"]}

    few = _queries(lambda: signed_in.get(URL, wanted))
    _make_more(38)
    many = _queries(lambda: signed_in.get(URL, wanted))

    assert few == many
    assert few <= 11


def _queries(get: Callable[[], object]) -> int:
    with CaptureQueriesContext(connection) as seen:
        get()
    return len(seen)


def _pair(model: str = "m-1") -> None:
    """Two endpoints, a good one and one that is not, measured an hour ago."""
    at = timezone.now() - timedelta(hours=1)
    for slug, failures in (("a", 0), ("b", 6)):
        make_rollup(make_endpoint(slug=slug, model=model), at, trials=10, failures=failures)


def _make_more(count: int) -> None:
    plain = {"provider": "openai", "base_url": "http://127.0.0.1:9/v1", "model": "m-1"}
    made = Endpoint.objects.bulk_create(
        Endpoint(slug=f"more-{place}", **plain) for place in range(count)
    )
    Profile.objects.bulk_create(Profile(endpoint=each, epoch=1, key_hash=b"") for each in made)
