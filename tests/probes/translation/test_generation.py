"""Generation options: read in one format, written in another, and nothing lost in silence."""

from __future__ import annotations

import json
from dataclasses import fields, replace
from itertools import product
from typing import Any

import pytest

from probes.adapters import FORMATS
from probes.adapters.generation import OPTIONS
from probes.losses import LossKind
from probes.messages import (
    Generation,
    JSONOutput,
    ModelCall,
    Role,
    Text,
    Thinking,
    ThinkingMode,
    Turn,
)
from tests.probes.translation.sdk_types import VALIDATORS

PAIRS = list(product(sorted(FORMATS), repeat=2))
SCHEMA: Any = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}
SAY: Any = [{"role": "user", "content": "Hi"}]
ON, OFF, ADAPTIVE = ThinkingMode.ON, ThinkingMode.OFF, ThinkingMode.ADAPTIVE

# A request with every option that the format has, and what it means.
REQUESTS: dict[str, tuple[dict[str, Any], Generation]] = {
    "anthropic": (
        {
            "model": "m",
            "max_tokens": 9000,
            "messages": SAY,
            "temperature": 0.5,
            "top_p": 0.9,
            "top_k": 3,
            "stop_sequences": ["a", "b"],
            "thinking": {"type": "enabled", "budget_tokens": 8192, "display": "omitted"},
            "output_config": {
                "effort": "max",
                "format": {"type": "json_schema", "schema": SCHEMA},
            },
            "metadata": {"user_id": "u"},
        },
        Generation(
            0.5,
            0.9,
            3,
            stop=("a", "b"),
            thinking=Thinking(ON, "max", 8192),
            output=JSONOutput(SCHEMA),
            user="u",
        ),
    ),
    "openai": (
        {
            "model": "m",
            "max_tokens": 9,
            "messages": SAY,
            "temperature": 1.5,
            "top_p": 1,
            "seed": 7,
            "presence_penalty": 0.1,
            "frequency_penalty": -0.1,
            "stop": "a",
            "reasoning_effort": "high",
            "response_format": {
                "type": "json_schema",
                "json_schema": {"name": "n", "schema": SCHEMA, "strict": True},
            },
            "user": "u",
            "prompt_cache_key": "s",
            "stream_options": {"include_usage": True},
        },
        Generation(
            1.5,
            1,
            seed=7,
            presence_penalty=0.1,
            frequency_penalty=-0.1,
            stop=("a",),
            thinking=Thinking(ON, "high"),
            output=JSONOutput(SCHEMA, "n", strict=True),
            user="u",
            session="s",
            include_usage=True,
        ),
    ),
    "openai_responses": (
        {
            "model": "m",
            "max_output_tokens": 9,
            "input": [{"type": "message", "role": "user", "content": "Hi"}],
            "temperature": 0.5,
            "top_p": 0.9,
            "reasoning": {"effort": "xhigh", "summary": "auto"},
            "text": {
                "format": {
                    "type": "json_schema",
                    "name": "n",
                    "schema": SCHEMA,
                    "description": "d",
                },
                "verbosity": "low",
            },
            "safety_identifier": "u",
            "prompt_cache_key": "s",
        },
        Generation(
            0.5,
            0.9,
            thinking=Thinking(ON, "xhigh"),
            output=JSONOutput(SCHEMA, "n", description="d"),
            user="u",
            session="s",
        ),
    ),
    "gemini": (
        {
            "contents": [{"role": "user", "parts": [{"text": "Hi"}]}],
            "generationConfig": {
                "maxOutputTokens": 9,
                "temperature": 0.5,
                "topP": 0.9,
                "topK": 40,
                "seed": 7,
                "presencePenalty": 0.1,
                "frequencyPenalty": 0.2,
                "stopSequences": ["a"],
                "thinkingConfig": {"includeThoughts": True, "thinkingBudget": 1024},
                "responseMimeType": "application/json",
                "responseJsonSchema": {
                    "type": "OBJECT",
                    "properties": {"a": {"type": "STRING"}},
                    "required": ["a"],
                },
            },
        },
        Generation(
            0.5,
            0.9,
            40,
            7,
            0.1,
            0.2,
            ("a",),
            Thinking(ON, budget=1024),
            JSONOutput(SCHEMA),
        ),
    ),
    "ollama": (
        {
            "model": "m",
            "messages": SAY,
            "stream": False,
            "think": "low",
            "format": SCHEMA,
            "options": {
                "num_predict": 9,
                "temperature": 0.5,
                "top_p": 0.9,
                "top_k": 40,
                "seed": 7,
                "presence_penalty": 0.1,
                "frequency_penalty": 0.2,
                "stop": ["a"],
            },
        },
        Generation(0.5, 0.9, 40, 7, 0.1, 0.2, ("a",), Thinking(ON, "low"), JSONOutput(SCHEMA)),
    ),
}
# The options that a format has no field for.
MISSING = {
    "anthropic": {"seed", "presence_penalty", "frequency_penalty", "session"},
    "openai": {"top_k"},
    "openai_responses": {"top_k", "seed", "presence_penalty", "frequency_penalty", "stop"},
    "gemini": {"user", "session"},
    "ollama": {"user", "session"},
}


def ask(generation: Generation) -> ModelCall:
    return ModelCall("m", (Turn(Role.USER, (Text("Hi"),)),), generation=generation)


def written(format: str, generation: Generation) -> Any:
    return json.loads(json.dumps(FORMATS[format].write_request(ask(generation))))


def set_fields(generation: Generation) -> set[str]:
    names = {field.name for field in fields(generation)}
    return {name for name in names if getattr(generation, name) is not None}


def lost_fields(format: str, call: ModelCall) -> dict[str, LossKind]:
    losses = FORMATS[format].losses(call)
    return {
        loss.path.removeprefix("$.generation."): loss.kind
        for loss in losses
        if loss.path.startswith("$.generation.")
    }


@pytest.mark.parametrize("format", sorted(FORMATS))
def test_a_request_says_the_same_in_no_vendors_format(format: str) -> None:
    """Every option is read, and the request is written back exactly as it was received."""
    body, generation = REQUESTS[format]

    call = FORMATS[format].read_request(body)

    assert call.generation == generation
    assert FORMATS[format].write_request(call) == body
    assert FORMATS[format].losses(call) == []


@pytest.mark.parametrize(("client", "endpoint"), PAIRS)
def test_every_option_arrives_or_is_a_loss(client: str, endpoint: str) -> None:
    """What an endpoint's format has a field for is there; the rest is reported, by name."""
    body, generation = REQUESTS[client]
    call = FORMATS[client].read_request(body)

    sent = json.loads(json.dumps(FORMATS[endpoint].write_request(call)))
    received = FORMATS[endpoint].read_request(sent).generation

    lost = lost_fields(endpoint, call)
    asked = set_fields(generation) - {"include_usage"}
    assert asked & MISSING[endpoint] <= set(lost)
    assert asked - set_fields(received) <= set(lost)
    for name in asked - set(lost) - {"output", "thinking"}:
        assert getattr(received, name) == getattr(generation, name)
    assert received.output is not None
    assert received.output.schema == SCHEMA
    assert received.thinking is not None


@pytest.mark.parametrize(("client", "endpoint"), PAIRS)
def test_an_option_that_arrives_is_not_a_foreign_field(client: str, endpoint: str) -> None:
    """Only fields that no other format has are left in the report of foreign fields."""
    call = FORMATS[client].read_request(REQUESTS[client][0])

    messages = [
        loss.message for loss in FORMATS[endpoint].losses(call) if loss.kind is LossKind.EXTRA
    ]

    # A summary of the reasoning and a verbosity exist in one format only.
    is_foreign = client == "openai_responses" != endpoint
    assert ["reasoning, text" in message for message in messages] == [True] * is_foreign


# Thinking in each format's words, and the sentence about what that no longer says.
THINKING: list[tuple[Thinking, dict[str, Any]]] = [
    (
        Thinking(OFF),
        {
            "anthropic": {"thinking": {"type": "disabled"}},
            "openai": {"reasoning_effort": "none"},
            "openai_responses": {"reasoning": {"effort": "none"}},
            "gemini": {"generationConfig": {"thinkingConfig": {"thinkingBudget": 0}}},
            "ollama": {"think": False},
        },
    ),
    (
        Thinking(ADAPTIVE),
        {
            "anthropic": {"thinking": {"type": "adaptive"}},
            "openai": {},
            "openai_responses": {},
            "gemini": {},
            "ollama": {},
        },
    ),
    (
        Thinking(ON, "high"),
        {
            "anthropic": {
                "thinking": {"type": "adaptive"},
                "output_config": {"effort": "high"},
            },
            "openai": {"reasoning_effort": "high"},
            "openai_responses": {"reasoning": {"effort": "high"}},
            "gemini": {
                "generationConfig": {
                    "thinkingConfig": {"includeThoughts": True, "thinkingBudget": 24576}
                }
            },
            "ollama": {"think": "high"},
        },
    ),
    (
        Thinking(ON, budget=500),
        {
            "anthropic": {"thinking": {"type": "enabled", "budget_tokens": 1024}},
            "openai": {"reasoning_effort": "low"},
            "openai_responses": {"reasoning": {"effort": "low"}},
            "gemini": {
                "generationConfig": {
                    "thinkingConfig": {"includeThoughts": True, "thinkingBudget": 500}
                }
            },
            "ollama": {"think": True},
        },
    ),
]


@pytest.mark.parametrize(
    ("thinking", "format", "expected"),
    [(thinking, name, words[name]) for thinking, words in THINKING for name in sorted(words)],
)
def test_thinking_in_the_words_of_each_format(
    thinking: Thinking, format: str, expected: Any
) -> None:
    """Off, adaptive, an effort or a budget; an approximation is reported."""
    body = written(format, Generation(thinking=thinking))
    plain = written(format, Generation())
    plain.get("generationConfig", {}).clear()
    body.get("generationConfig", {}).pop("maxOutputTokens", None)

    assert {key: value for key, value in body.items() if plain.get(key) != value} == expected


def test_an_approximation_is_reported() -> None:
    """A budget has no place where only words exist, and a word none where only budgets do."""
    call = ask(Generation(2, thinking=Thinking(ON, budget=9000)))

    assert lost_fields("openai", call) == {"thinking": LossKind.THINKING}
    assert lost_fields("ollama", call) == {"thinking": LossKind.THINKING}
    assert lost_fields("anthropic", call) == {"temperature": LossKind.SAMPLING}
    assert lost_fields("openai", ask(Generation(thinking=Thinking(ON)))) == {
        "thinking": LossKind.THINKING
    }


def test_json_without_a_schema() -> None:
    """Every format but Anthropic's can ask for any JSON."""
    generation = Generation(output=JSONOutput())

    assert written("openai", generation)["response_format"] == {"type": "json_object"}
    assert written("openai_responses", generation)["text"] == {"format": {"type": "json_object"}}
    assert written("gemini", generation)["generationConfig"]["responseMimeType"] == (
        "application/json"
    )
    assert written("ollama", generation)["format"] == "json"
    assert "output_config" not in written("anthropic", generation)
    assert lost_fields("anthropic", ask(generation)) == {"output": LossKind.OUTPUT_FORMAT}


def test_a_changed_option_replaces_the_clients_field_alone() -> None:
    """Whoever drops an option from the value drops it from the request; the rest is untouched."""
    body, generation = REQUESTS["openai"]
    call = FORMATS["openai"].read_request(body)

    changed = replace(generation, seed=None, thinking=Thinking(OFF))
    sent = FORMATS["openai"].write_request(replace(call, generation=changed))

    expected = {key: value for key, value in body.items() if key != "seed"}
    assert sent == expected | {"reasoning_effort": "none"}


def test_an_operators_field_wins_over_a_client_of_another_format() -> None:
    """Options of the endpoint are sent as they are."""
    call = FORMATS["anthropic"].read_request(REQUESTS["anthropic"][0])
    sent = FORMATS["openai"].write_request(
        replace(call, options={"reasoning_effort": "none", "temperature": 0})
    )

    assert (sent["reasoning_effort"], sent["temperature"]) == ("none", 0)


def test_a_long_id_of_a_user_is_sent_as_its_digest() -> None:
    """OpenAI refuses ids of more than 64 characters; the digest is stable."""
    long = Generation(user="u" * 65)

    assert len(written("openai", long)["user"]) == 64
    assert written("openai", long) == written("openai", long)
    assert written("anthropic", long)["metadata"] == {"user_id": "u" * 65}


def test_the_table_of_options_names_fields_of_the_value() -> None:
    """A row with a wrong name would never be read."""
    names = {field.name for field in fields(Generation)}
    for options in OPTIONS.values():
        assert {option.name for option in options} <= names


# The official SDKs judge what is written.


@pytest.mark.parametrize(("client", "endpoint"), PAIRS)
def test_the_sdk_accepts_the_options(client: str, endpoint: str) -> None:
    """The types of the official SDK validate each translated request."""
    call = replace(FORMATS[client].read_request(REQUESTS[client][0]), model="m")

    VALIDATORS[endpoint](json.loads(json.dumps(FORMATS[endpoint].write_request(call))))
