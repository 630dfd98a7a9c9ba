from __future__ import annotations

import copy
import json
import pickle
import traceback
from dataclasses import asdict

import pytest

from probes.errors import TargetError
from probes.secret import Secret
from probes.target import Provider, Target

VALUE = "sk-canary-4711-zebra"


@pytest.mark.parametrize("show", [repr, str, format, "{:>30}".format, "{!r}".format])
def test_no_way_of_showing_a_secret_shows_it(show: object) -> None:
    """repr, str and format give a mask."""
    assert callable(show)

    text = show(Secret(VALUE))

    assert "***" in text
    assert "canary" not in text


@pytest.mark.parametrize("carry", [pickle.dumps, json.dumps, copy.copy, copy.deepcopy])
def test_a_secret_refuses_to_be_carried_away(carry: object) -> None:
    """Pickle, JSON and copies raise, so a secret never reaches a broker or a cache."""
    assert callable(carry)

    with pytest.raises(TypeError):
        carry(Secret(VALUE))


def test_a_secret_inside_a_target_stays_hidden() -> None:
    """Neither the text of a target nor a traceback with it shows the key."""
    target = Target(Provider.OPENAI, "https://example.test/v1", "m", Secret(VALUE))

    try:
        asdict(target)
    except TypeError as exc:
        text = repr(target) + "".join(traceback.format_exception(exc))

    assert "canary" not in text


def test_secrets_compare_by_value_and_only_with_secrets() -> None:
    """Equal values are equal; a plain string is never equal."""
    assert Secret(VALUE) == Secret(VALUE)
    assert Secret(VALUE) != Secret(VALUE + "x")
    assert Secret(VALUE) != VALUE


def test_the_hint_shows_four_characters_of_long_secrets_only() -> None:
    """The end of a short secret would reveal too much."""
    assert Secret("123456789012").hint == "9012"
    assert Secret("12345678901").hint == ""


def test_an_empty_secret_is_refused() -> None:
    """Redacting nothing would redact everything."""
    with pytest.raises(TargetError, match="empty"):
        Secret("")
