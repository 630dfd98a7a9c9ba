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

from dashboard.compare.capabilities import capability_cells, value_label
from dashboard.compare.queries import Level, MetricCell
from dashboard.core.safe_csv import records_as_csv
from dashboard.models import Endpoint, Profile, RollupDay
from dashboard.runs.observations import LIVE
from health.rates import metric_rate
from probes.outcomes import Metric
from tests.factories import make_endpoint, make_finished_run, make_rollup
from tests.markup import assert_contains, assert_not_contains

URL = "/compare/"


def test_without_endpoints_the_page_says_how_to_begin(signed_in: Client) -> None:
    """The page links to the form instead of showing an empty table."""
    page = signed_in.get(URL)

    assert_contains(page, "Nothing to compare yet")
    assert_contains(page, 'href="/endpoints/new/"')


@pytest.mark.parametrize("path", [URL, "/compare/export/"])
def test_anonymous_is_sent_to_the_login(client: Client, db: None, path: str) -> None:
    """Page and export need a sign-in."""
    assert client.get(path).headers["Location"].startswith("/login/")


def test_the_last_run_is_shown_with_its_numbers(signed_in: Client) -> None:
    """A cell has rate, numerator, denominator, interval and level, and links to the run."""
    endpoint = make_endpoint()
    make_finished_run(endpoint, passed=1, failed=9)
    run = make_finished_run(endpoint, passed=7, failed=3)

    page = signed_in.get(URL, {"span": "last"})

    assert_contains(page, f'<a href="/runs/{run.pk}/">70%</a>')
    assert_contains(page, '>70%</a> weak</span><span class="sub">7/10<')
    assert_contains(page, "7 of 10; 95 % interval 39%–90%")
    assert_contains(page, "no data", count=len(Metric) - 1 + 1)  # and once in the legend


def test_a_span_sums_its_buckets(signed_in: Client) -> None:
    """Buckets within the span count; older ones and live traffic do not."""
    endpoint, now = make_endpoint(), timezone.now()
    make_rollup(endpoint, now, trials=10, failures=1)
    make_rollup(endpoint, now - timedelta(hours=5), trials=10, failures=0)
    make_rollup(endpoint, now - timedelta(days=3), trials=10, failures=10)
    make_rollup(endpoint, now, trials=10, failures=10, lane=LIVE)

    day, week = (signed_in.get(URL, {"span": span}) for span in ("24h", "7d"))

    assert_contains(day, '<b>95%</b> fair</span><span class="sub">19/20<')
    assert_contains(week, '<b>63%</b> weak</span><span class="sub">19/30<')


def test_a_month_is_read_from_days(signed_in: Client) -> None:
    """Thirty days come from the day rollups."""
    make_rollup(
        make_endpoint(), timezone.now() - timedelta(days=20), trials=4, failures=0, table=RollupDay
    )

    assert_contains(
        signed_in.get(URL, {"span": "30d"}), '<b>100%</b> good</span><span class="sub">4/4<'
    )


def test_results_of_an_earlier_key_are_excluded(signed_in: Client) -> None:
    """The table shows the current profile only."""
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
def test_a_level_follows_the_success_rate(metric: Metric, failures: int, level: Level) -> None:
    """More failures lower the level, for metrics of either direction."""
    assert MetricCell(metric, metric_rate(metric, 100, failures)).level is level


def test_a_level_matches_the_displayed_rate() -> None:
    """A rate that displays as 90% has the level that the legend gives for 90 %."""
    rate = metric_rate(Metric.PARSE_SUCCESS, 276, 28)

    assert f"{rate.value:.0%}" == "90%"
    assert MetricCell(Metric.PARSE_SUCCESS, rate).level is Level.FAIR


def test_capabilities_have_a_label_and_their_trials(signed_in: Client) -> None:
    """The capabilities tab shows each value with the number of trials that agree."""
    entry = {"value": "strict_json_schema", "trials": 12, "agree": 11, "low": 0.65, "high": 0.99}
    make_endpoint().profiles.update(capabilities={"schema_level": entry})

    page = signed_in.get(URL, {"tab": "capabilities"})

    assert_contains(page, "strict json schema")
    assert_contains(page, "11/12")
    assert_contains(page, "11 of 12 trials say so; 95 % interval 65% to 99%.")
    assert_contains(page, "No trial has told yet.")


def test_values_of_every_type_have_a_label() -> None:
    """Booleans, lists, maps and null are readable; hostile text is escaped."""
    values: tuple[object, ...] = (True, None, ["auto", "named"], [], {"strict": False}, "a\u202eb")

    labels = [value_label(value) for value in values]

    assert labels == ["yes", "unknown", "auto, named", "none", "strict: no", "a⟦U+202E⟧b"]


@pytest.mark.parametrize(
    ("call_format", "label"), [("openai", "none needed"), ("none", "no calls")]
)
def test_no_parser_is_known_once_calls_were_seen(call_format: str, label: str) -> None:
    """A missing parser is a known value once trials have run."""
    capabilities = {
        "tool_call_format": {"value": call_format},
        "parser": {"value": None, "trials": 3},
    }

    assert capability_cells(capabilities)[1].label == label


def test_a_parser_is_not_called_unneeded_beside_calls_in_the_text() -> None:
    """Some calls leaked, or the formats are not settled at all."""
    leaking = {"value": None, "trials": 10, "agree": 9, "counts": {"openai": 9, "hermes": 1}}
    split = {"value": None, "trials": 2, "unsettled": True, "counts": {"openai": 1, "hermes": 1}}

    labels = [
        capability_cells({"tool_call_format": {"value": "openai"}, "parser": parser})[1].label
        for parser in (leaking, split)
    ]

    assert labels == ["none; some calls come as text", "not settled"]


def test_two_endpoints_share_a_chart_with_a_title(signed_in: Client) -> None:
    """The title names the best and the worst endpoint; the table below has the figures."""
    _make_pair()

    page = signed_in.get(URL, {"endpoint": ["a", "b"], "range": "7d"})

    assert_contains(page, "Parse success: best 100% (a), worst 40% (b)")
    assert [line["name"] for line in page.context["figure"]["data"]] == ["a", "b"]
    assert_contains(page, "4/10")
    assert_contains(page, 'value="a" checked')


def test_one_endpoint_is_not_enough_for_a_chart(signed_in: Client) -> None:
    """With one endpoint selected the page asks for a second one."""
    _make_pair()

    assert_contains(signed_in.get(URL, {"endpoint": "a"}), "Tick one more endpoint")


def test_no_more_than_six_are_drawn(signed_in: Client) -> None:
    """The seventh endpoint is not drawn, and the page says so."""
    slugs = [make_endpoint(slug=f"e-{place}").slug for place in range(7)]

    page = signed_in.get(URL, {"endpoint": slugs})

    assert len(page.context["lines"]) == 6
    assert_contains(page, "the first six are drawn")


def test_the_model_filter_draws_its_endpoints(signed_in: Client) -> None:
    """Filtering by a model lists its endpoints and draws them without a selection."""
    _make_pair(model="shared")
    make_endpoint(slug="other", model="lonely")

    page = signed_in.get(URL, {"model": "shared"})

    assert [endpoint.slug for endpoint, _ in page.context["rows"]] == ["a", "b"]
    assert [line.endpoint.slug for line, _ in page.context["lines"]] == ["a", "b"]
    assert_contains(signed_in.get(URL), "?model=shared")
    assert_not_contains(signed_in.get(URL), "?model=lonely")


def test_the_whole_state_is_in_the_query_string(signed_in: Client) -> None:
    """Links keep every choice, and invalid values are ignored."""
    _make_pair()
    query = {"endpoint": ["a", "b"], "metric": "leak", "range": "30d", "span": "24h", "q": "a"}

    page = signed_in.get(URL, query)
    invalid = signed_in.get(
        URL, {"tab": "x", "span": "9y", "metric": "\x00", "page": "z", "q": "\x00"}
    )

    expected = "?tab=capabilities&span=24h&metric=leak&range=30d&q=a&endpoint=a&endpoint=b"
    assert page.context["tabs"][1][1] == expected
    # b does not match the search: a hidden input keeps it selected.
    assert_contains(page, '<input type="hidden" name="endpoint" value="b">')
    assert invalid.status_code == 200


def test_csv_holds_the_table(signed_in: Client) -> None:
    """Every cell is a row; without data the rate is empty."""
    make_finished_run(make_endpoint(slug="e", model="=cmd()"), passed=7, failed=3)

    response = signed_in.get("/compare/export/", {"span": "last", "format": "csv"})

    rows = list(csv.DictReader(StringIO(response.content.decode())))
    assert len(rows) == len(Metric)
    assert rows[0]["endpoint"] == "e"
    assert rows[0]["model"] == "'=cmd()"
    assert (rows[0]["trials"], rows[0]["rate"], rows[1]["rate"]) == ("10", "0.7", "")
    assert "toolgauge-compare-metrics.csv" in response["Content-Disposition"]


def test_json_holds_the_points_of_the_chart(signed_in: Client) -> None:
    """The export of the chart has the points that are drawn."""
    _make_pair()

    query = {"endpoint": ["a", "b"], "range": "7d", "what": "chart"}
    rows = json.loads(signed_in.get("/compare/export/", query).content)["rows"]

    assert [(row["endpoint"], row["trials"], row["failures"]) for row in rows] == [
        ("a", 10, 0),
        ("b", 10, 6),
    ]


@pytest.mark.parametrize("start", ["=", "+", "-", "@", "\t", "\r"])
def test_no_exported_text_is_a_formula(start: str) -> None:
    """A spreadsheet reads it as text."""
    [row] = csv.DictReader(
        StringIO(records_as_csv([{"model": f"{start}1", "rate": 0.5}]), newline="")
    )

    assert row == {"model": f"'{start}1", "rate": "0.5"}


@pytest.mark.parametrize("query", [{"span": "last"}, {"span": "7d"}, {"tab": "capabilities"}])
def test_queries_do_not_grow_with_the_fleet(signed_in: Client, query: dict[str, str]) -> None:
    """Forty endpoints need as many queries as two, for table and chart together."""
    for slug in ("e-0", "e-1"):
        make_finished_run(make_endpoint(slug=slug))
    selection = {**query, "endpoint": ["e-0", "e-1"]}

    few = _count_queries(lambda: signed_in.get(URL, selection))
    _make_more(38)
    many = _count_queries(lambda: signed_in.get(URL, selection))

    assert few == many
    assert few <= 11


def _count_queries(get: Callable[[], object]) -> int:
    with CaptureQueriesContext(connection) as queries:
        get()
    return len(queries)


def _make_pair(model: str = "m-1") -> None:
    """Make a good endpoint and a bad one, both measured an hour ago."""
    at = timezone.now() - timedelta(hours=1)
    for slug, failures in (("a", 0), ("b", 6)):
        make_rollup(make_endpoint(slug=slug, model=model), at, trials=10, failures=failures)


def _make_more(count: int) -> None:
    plain = {"provider": "openai", "base_url": "http://127.0.0.1:9/v1", "model": "m-1"}
    endpoints = Endpoint.objects.bulk_create(
        Endpoint(slug=f"more-{place}", **plain) for place in range(count)
    )
    Profile.objects.bulk_create(Profile(endpoint=each, epoch=1, key_hash=b"") for each in endpoints)
