"""Query strings: a form reads one, a filter holds its values and writes the next."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, fields
from typing import Any

from django import forms
from django.http import QueryDict

# Where in a list a page begins: it starts over when a filter changes.
PLACES = frozenset({"page", "before", "after"})


class QueryForm(forms.Form):
    """The parameters of a page. A value that is not valid counts as not given."""

    def read(self) -> dict[str, Any]:
        """The valid values; the page's filter has defaults for the others."""
        self.full_clean()
        empty = forms.Field.empty_values
        return {name: value for name, value in self.cleaned_data.items() if value not in empty}


@dataclass(frozen=True, slots=True)
class QueryFilter:
    """What a page shows. Fields are named after their parameters."""

    def address(self, **over: object) -> str:
        """The query string of the same list with `over` applied; defaults are left out."""
        defaults = {each.name: each.default for each in fields(self)}
        values = {name: getattr(self, name) for name in defaults if name not in PLACES}
        query = QueryDict(mutable=True)
        for name, value in (values | over).items():
            if value and value != defaults.get(name):
                query.setlist(name, _as_texts(value))
        return f"?{query.urlencode()}"


def text_field(max_length: int = 200) -> forms.CharField:
    return forms.CharField(required=False, max_length=max_length)


def choice_field(values: Collection[str]) -> forms.ChoiceField:
    return forms.ChoiceField(required=False, choices=[(value, value) for value in values])


def id_field() -> forms.IntegerField:
    return forms.IntegerField(required=False, min_value=1, max_value=2**63 - 1)


def _as_texts(value: object) -> Iterable[str]:
    return map(str, value) if isinstance(value, tuple | list) else [str(value)]
