"""What was edited here since a file was last applied."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from dashboard.endpoints.as_code.fields import as_file, same
from dashboard.models import Applied, Endpoint
from probes.messages import JSON


@dataclass(frozen=True, slots=True)
class Edited:
    """A field that holds something else than the file had set."""

    name: str
    applied: JSON
    now: JSON


def of(endpoint: Endpoint) -> list[Edited]:
    """What was edited of one endpoint; nothing where no file was ever applied to it."""
    return of_all([endpoint.pk]).get(endpoint.pk, [])


def of_all(endpoint_ids: Iterable[int]) -> dict[int, list[Edited]]:
    """The same of many in one query, by their ids; whoever was not edited is left out."""
    kept = Applied.objects.filter(pk__in=list(endpoint_ids)).select_related("endpoint__team")
    found = {each.pk: between(each.fields, as_file(each.endpoint)) for each in kept}
    return {pk: edited for pk, edited in found.items() if edited}


def between(applied: Mapping[str, Any], now: Mapping[str, JSON]) -> list[Edited]:
    # A field that is younger than the apply was not set by it.
    return [
        Edited(name, applied[name], value)
        for name, value in now.items()
        if name in applied and not same(applied[name], value)
    ]
