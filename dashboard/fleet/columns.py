"""The columns of the fleet's table, each with the address that sorts by it."""

from __future__ import annotations

from dataclasses import dataclass

from django.utils.translation import pgettext

from dashboard.fleet.filters import SHOWN, Asked
from health.metric_names import metric_name
from health.rates import DIRECTIONS, Direction
from probes.outcomes import Metric


@dataclass(frozen=True, slots=True)
class Column:
    """`order` is what aria-sort calls it, empty where the list is sorted by something else."""

    words: str
    title: str
    address: str
    order: str
    is_metric: bool = False


def columns(asked: Asked) -> list[Column]:
    """All columns, from left to right."""
    return [
        _column(asked, "name", pgettext("column", "Endpoint")),
        _column(asked, "status", pgettext("column", "Status")),
        *(_of_metric(asked, metric) for metric in SHOWN),
        _column(asked, "last", pgettext("column", "Runs")),
    ]


def short(metric: Metric) -> str:
    """A name for the head of a narrow column."""
    return {
        Metric.PARSE_SUCCESS: pgettext("column", "Parse"),
        Metric.SCHEMA_FAILURE: pgettext("column", "Schema"),
        Metric.CLOSURE_ERROR: pgettext("column", "Closure"),
        Metric.REASONING_REPLAY_ERROR: pgettext("column", "Replay"),
        Metric.REPAIR_SUCCESS: pgettext("column", "Repair"),
        Metric.PARALLEL_DOWNGRADE: pgettext("column", "Parallel"),
        Metric.UNSAFE_BLOCKED: pgettext("column", "Blocked"),
        Metric.STREAM_DISAGREEMENT: pgettext("column", "Stream"),
        Metric.AVAILABILITY: pgettext("column", "Available"),
    }[metric]


def _of_metric(asked: Asked, metric: Metric) -> Column:
    name = metric_name(metric)
    if DIRECTIONS[metric] is Direction.HIGH:
        title = pgettext("column", "{name}: high is good").format(name=name)
    else:
        title = pgettext("column", "{name}: low is good").format(name=name)
    return _column(asked, metric.value, short(metric), title=title, is_metric=True)


def _column(
    asked: Asked, sort: str, words: str, *, title: str = "", is_metric: bool = False
) -> Column:
    orders = {sort: "ascending", f"-{sort}": "descending"}
    turned = f"-{sort}" if asked.sort == sort else sort
    return Column(words, title, asked.address(sort=turned), orders.get(asked.sort, ""), is_metric)
