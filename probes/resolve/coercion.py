"""Arguments written between tags: text to values, guided by the schema.

A value is read by the first type the schema admits, in the order null, integer, number, boolean,
object, array, string. A declared string, or an undeclared value, stays text to the last character.
Reading by type is how these formats work and is no repair; these are:

| repair | what was wrong |
|---|---|
| `cdata` | the whole value was wrapped in `<![CDATA[..]]>` |
| `entities` | the value fitted only after `&lt;` and similar entities were decoded |
| `strip_space` | a string fitted only without the white space around it |
| `retyped` | the markup's own type flag did not fit the schema |
| `duplicate_keys` | a parameter came twice; the last one counts |

and those of `probes/resolve/json_repair.py` inside objects and arrays.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from probes.call_arguments import SchemaChecker
from probes.messages import JSON
from probes.parsers.base import Parameter
from probes.resolve.json_repair import read_json, read_strictly
from probes.schemas.types import properties_at, type_name, types_of

MAX_DIGITS = 400
_INTEGER = re.compile(r"[+-]?[0-9]+(?:\.0+)?")
_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_CDATA, _CDATA_END = "<![CDATA[", "]]>"
_STRUCTURED = ("object", "array")


@dataclass(frozen=True, slots=True)
class ParameterReading:
    """One interpretation of a value, and the repairs that it implies."""

    value: JSON
    repairs: tuple[str, ...] = ()


def read_parameters(
    items: Sequence[Parameter], checker: SchemaChecker, *, repair: bool = True
) -> ParameterReading:
    """The arguments as an object that fits the schema as far as the readings allow."""
    readings = {item.key: _allowed_readings(item, checker, repair=repair) for item in items}
    first = {key: next(candidates) for key, candidates in readings.items()}
    chosen = dict(first)
    # Each round moves a value to its next reading, so the loop ends with the readings.
    while misfit_keys := _misfit_keys(chosen, checker) & readings.keys():
        for key in sorted(misfit_keys):
            next_reading = next(readings[key], None)
            if next_reading is None:
                del readings[key]
            chosen[key] = next_reading or first[key]
    repairs = [repair for reading in chosen.values() for repair in reading.repairs]
    if len(first) < len(items):
        repairs.append("duplicate_keys")
    value = {key: reading.value for key, reading in chosen.items()}
    return ParameterReading(value, tuple(dict.fromkeys(repairs)))


def _misfit_keys(chosen: Mapping[str, ParameterReading], checker: SchemaChecker) -> set[str]:
    """The keys of the values that misfit in their current reading."""
    misfits = checker.misfits({key: reading.value for key, reading in chosen.items()})
    return {str(misfit.steps[0]) for misfit in misfits if misfit.steps}


def _allowed_readings(
    item: Parameter, checker: SchemaChecker, *, repair: bool
) -> Iterator[ParameterReading]:
    if repair:
        return _readings(item, checker)
    plain = [reading for reading in _readings(item, checker) if not reading.repairs]
    return iter(plain or [ParameterReading(item.value)])


def _readings(item: Parameter, checker: SchemaChecker) -> Iterator[ParameterReading]:
    """Every reading of a value, the most likely one first."""
    schemas = properties_at(checker.schema, checker.schema, item.key)
    types = frozenset().union(*(types_of(schema, checker.schema) for schema in schemas))
    text, cdata = _without_cdata(item.value)
    if item.is_string is False:
        read = read_strictly(text)
        if read.error is None:
            yield ParameterReading(read.value, (*cdata, *read.repairs))
    # A flag that says "string" is tried first, and ignored only if the schema disagrees.
    flagged = item.is_string is True and types != {"string"}
    if flagged:
        yield ParameterReading(text, cdata)
    retyped = ("retyped",) if flagged or item.is_string is False else ()
    for reading in _by_type(text, types):
        yield ParameterReading(reading.value, (*cdata, *reading.repairs, *retyped))
    yield from _respelled(text, types, cdata)


def _respelled(
    text: str, types: frozenset[str], cdata: tuple[str, ...]
) -> Iterator[ParameterReading]:
    decoded = html.unescape(text)
    if decoded != text:
        for reading in _by_type(decoded, types):
            yield ParameterReading(reading.value, (*cdata, "entities", *reading.repairs))
    if text.strip() != text:
        yield ParameterReading(text.strip(), (*cdata, "strip_space"))


def _by_type(text: str, types: frozenset[str]) -> Iterator[ParameterReading]:
    bare = text.strip()
    if "null" in types and bare == "null":
        yield ParameterReading(None)
    if types & {"integer", "number"}:
        yield from _numbers(bare, types)
    if "boolean" in types and bare.lower() in ("true", "1", "false", "0"):
        yield ParameterReading(bare.lower() in ("true", "1"))
    if types.intersection(_STRUCTURED) and bare[:1] not in ("", '"'):
        # If the schema admits text as well, only strict JSON takes precedence over it.
        read = read_strictly(bare) if "string" in types else read_json(bare)
        if read.error is None and type_name(read.value) in types.intersection(_STRUCTURED):
            yield ParameterReading(read.value, read.repairs)
    yield ParameterReading(text)


def _numbers(text: str, types: frozenset[str]) -> Iterator[ParameterReading]:
    # The limit keeps the conversion of a hostile number cheap.
    if len(text) > MAX_DIGITS:
        return
    if _INTEGER.fullmatch(text) and ("integer" in types or "." not in text):
        yield ParameterReading(int(text.partition(".")[0]))
    elif "number" in types and _NUMBER.fullmatch(text):
        number = float(text)
        if abs(number) != float("inf"):
            yield ParameterReading(number)


def _without_cdata(text: str) -> tuple[str, tuple[str, ...]]:
    bare = text.strip()
    inner = bare[len(_CDATA) : -len(_CDATA_END)]
    is_cdata = bare.startswith(_CDATA) and bare.endswith(_CDATA_END) and len(bare) >= 12
    if is_cdata and _CDATA_END not in inner:
        return inner, ("cdata",)
    return text, ()
