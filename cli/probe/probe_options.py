"""The options of `toolgauge probe`, checked before anything is sent."""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from probes import fingerprint
from probes.measurement import MeasurementPlan
from probes.messages import JSON
from probes.outcomes import Metric
from probes.suite.sampling import estimate_price
from probes.target import Provider, Target, check_key

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class UsageError(Exception):
    """An option cannot be used; the message says what to do."""


def read_target(options: argparse.Namespace) -> Target:
    """The endpoint to probe, with its key from the environment."""
    pairs = [_parse_option(pair) for pair in options.option]
    names = [name for name, _ in pairs]
    for name in names:
        if names.count(name) > 1:
            raise UsageError(f"The option {name!r} is given twice; give it once.")
    return Target(
        Provider(options.provider),
        options.base_url,
        options.model,
        None if options.api_key_env is None else check_key(_read_key(options.api_key_env)),
        dict(pairs),
        max_concurrency=options.concurrency,
        dialect=options.dialect,
        chat_template_hash=_hash_template(options.chat_template) or options.chat_template_hash,
    )


def read_plan(options: argparse.Namespace) -> MeasurementPlan:
    """The plan of the measurement. `--max-requests` includes requests for facts of the endpoint."""
    plan = MeasurementPlan(options.suite, options.samples, deadline_s=options.deadline)
    if options.max_requests is None:
        return plan
    minimum = estimate_price(plan.trials).requests + fingerprint.MOST_REQUESTS
    if options.max_requests < minimum:
        raise UsageError(
            f"This suite takes up to {minimum} requests and --max-requests allows "
            f"{options.max_requests}; allow more, or ask less with --suite light or --samples."
        )
    room = options.max_requests - fingerprint.MOST_REQUESTS
    return MeasurementPlan(options.suite, options.samples, room, options.deadline)


def read_thresholds(texts: Sequence[str]) -> dict[Metric, float]:
    """`METRIC=VALUE` options as the value that each metric must reach."""
    thresholds = {}
    for text in texts:
        name, _, value = text.partition("=")
        if name not in list(Metric):
            names = ", ".join(Metric)
            raise UsageError(f"{text!r} is no bar; write METRIC=VALUE, the metric one of {names}.")
        thresholds[Metric(name)] = _parse_share(text, value)
    return thresholds


def read_earlier_profile(path: Path | None) -> Mapping[str, JSON] | None:
    """The earlier profile to compare with."""
    if path is None:
        return None
    try:
        earlier = json.loads(path.read_text(encoding="utf-8"))
    except OSError as exc:
        raise UsageError(f"{path} cannot be read: {exc.strerror}.") from exc
    except (ValueError, RecursionError) as exc:
        raise UsageError(f"{path} is not JSON; {_EXPECTED_FILE}") from exc
    if not _is_profile(earlier):
        raise UsageError(f"{path} is no profile; {_EXPECTED_FILE}")
    return dict(earlier)


_EXPECTED_FILE = "give the output of `toolgauge probe --json`."


def _is_profile(value: JSON) -> bool:
    if not isinstance(value, Mapping) or not isinstance(value.get("capabilities"), Mapping):
        return False
    rates = value.get("metrics")
    return isinstance(rates, Mapping) and all(_is_rate(rate) for rate in rates.values())


def _is_rate(value: JSON) -> bool:
    if not isinstance(value, Mapping):
        return False
    figures = [value.get(name) for name in ("rate", "low", "high")]
    return figures == [None] * 3 or all(isinstance(figure, int | float) for figure in figures)


def _hash_template(path: Path | None) -> str:
    """The hash of a chat template's file, as engines would report it."""
    if path is None:
        return ""
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError as exc:
        raise UsageError(f"{path} cannot be read: {exc.strerror}.") from exc


def _read_key(variable: str) -> str:
    if not _VARIABLE.fullmatch(variable):
        # The text may be the key itself, so it is not printed.
        raise UsageError(
            "--api-key-env wants the name of an environment variable that holds the key, "
            "not the key itself."
        )
    key = os.environ.get(variable, "").strip()
    if not key:
        raise UsageError(f"The environment variable {variable} is not set; set it to the API key.")
    return key


def _parse_option(pair: str) -> tuple[str, JSON]:
    name, equals, text = pair.partition("=")
    if not name or not equals:
        raise UsageError(f"{pair!r} is no option; write NAME=VALUE, the value as JSON or text.")
    try:
        value: JSON = json.loads(text)
    except (ValueError, RecursionError):
        value = text
    return name, value


def _parse_share(text: str, value: str) -> float:
    try:
        share = float(value)
    except ValueError:
        share = -1
    # Also false for "nan", which no rate would ever fall below.
    if not 0 <= share <= 1:
        raise UsageError(f"{text!r} is no bar; the value is a share from 0 to 1, such as 0.95.")
    return share
