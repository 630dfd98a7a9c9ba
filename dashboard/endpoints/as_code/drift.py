"""Drift: fields edited in the UI or API since a file was last applied."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from dashboard.endpoints.as_code.fields import as_file
from dashboard.models import Applied, Endpoint
from probes.messages import JSON
from probes.strict_json import is_same_json


@dataclass(frozen=True, slots=True)
class EditedField:
    """A field that no longer has the value that the file set."""

    name: str
    applied: JSON
    now: JSON


def read_drift(endpoint: Endpoint) -> list[EditedField]:
    """The edited fields of an endpoint; empty if no file was ever applied to it."""
    return read_drift_by_endpoint([endpoint.pk]).get(endpoint.pk, [])


def read_drift_by_endpoint(endpoint_ids: Iterable[int]) -> dict[int, list[EditedField]]:
    """The edited fields by endpoint id, in one query; endpoints without edits are omitted."""
    applied = Applied.objects.filter(pk__in=list(endpoint_ids)).select_related("endpoint__team")
    edits = {each.pk: find_edits(each.fields, as_file(each.endpoint)) for each in applied}
    return {pk: edited for pk, edited in edits.items() if edited}


def find_edits(applied: Mapping[str, Any], now: Mapping[str, JSON]) -> list[EditedField]:
    # A field that was introduced after the apply was not set by it.
    return [
        EditedField(name, applied[name], value)
        for name, value in now.items()
        if name in applied and not is_same_json(applied[name], value)
    ]
