"""The simulated model does the same for every wording of the probes' questions."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any

import httpx
import pytest

from probes.history.model_conversation import Conversation
from probes.messages import (
    AUTO,
    JSON,
    NONE,
    REQUIRED,
    Reply,
    Stop,
    Text,
    ToolChoice,
    ToolResult,
    ToolSpec,
)
from probes.suite import PROBES, DrawnValues
from probes.suite.base import rng_for
from probes.suite.closure_probe import GREETED, GREETING
from probes.suite.error_repair_probe import ERROR
from probes.suite.probe_tools import (
    PROBE_ADD,
    PROBE_ECHO,
    PROBE_FAIL_ONCE,
    PROBE_NOW,
    PROBE_ORDER,
    PROBE_ORDER_LINE,
    PROBE_SETTINGS,
    PROBE_STORE,
    SAFE,
)
from probes.suite.question_builder import OWN_ORIGIN
from probes.suite.script_steps import start_conversation
from probes.suite.two_turns import PROMPT
from probes.target import Provider
from tests.simulators.further_paraphrases import FURTHER
from tests.simulators.model_client import Model
from tests.simulators.paraphrases import WORDINGS, fill_wording

SEEDS = range(1, 2)
SCHEMAS: Mapping[str, ToolSpec] = MappingProxyType(
    {
        "schema_types": PROBE_SETTINGS,
        "schema_nested": PROBE_ORDER,
        "schema_union": PROBE_STORE,
        "hostile_text": PROBE_ECHO,
    }
)
BOTH = (PROBE_ECHO, PROBE_ADD)


@pytest.fixture(scope="module")
def client() -> Iterator[httpx.Client]:
    with httpx.Client(trust_env=False, timeout=30) as client:
        yield client


@pytest.fixture
def model(vendor_url: str, client: httpx.Client) -> Model:
    return Model(Provider.OPENAI, f"{vendor_url}/openai/v1", "sim-steady", client)


def draw_values(probe: str, seed: int) -> DrawnValues:
    return PROBES[probe].draw(rng_for(seed, probe, 1))


def read_calls(reply: Reply) -> list[tuple[str, dict[str, JSON]]]:
    return [(call.name, dict(call.input)) for call in reply.calls]


def sort_calls(*read_calls: tuple[str, Mapping[str, JSON]]) -> list[str]:
    """Calls in a fixed order, as text that distinguishes True from 1."""
    return sorted(json.dumps(call, sort_keys=True) for call in read_calls)


def write_arguments(arguments: Mapping[str, JSON]) -> str:
    return json.dumps(arguments, ensure_ascii=False)


def add_results(conversation: Conversation, reply: Reply, *bodies: Mapping[str, JSON]) -> None:
    conversation.add_reply(reply, OWN_ORIGIN)
    conversation.add_results(
        ToolResult(call.id, json.dumps(body), bool(body.get("is_error")), call.name)
        for call, body in zip(reply.calls, bodies, strict=True)
    )


def check_echo(model: Model, wording: str, seed: int) -> None:
    values = draw_values("format", seed).values
    reply = model.ask(fill_wording(wording, {"tool": "probe_echo", **values}), (PROBE_ECHO,))
    assert read_calls(reply) == [("probe_echo", values)]


def check_schema(model: Model, wording: str, seed: int) -> None:
    for probe, tool in SCHEMAS.items():
        values = draw_values(probe, seed).values
        check_arguments(model, wording, tool, values)
    values = draw_values("schema_nested", seed).values
    customer: Any = values["customer"]
    items: Any = values["items"]
    check_arguments(model, wording, PROBE_ORDER_LINE, {**customer, **items[0]})


def check_arguments(model: Model, wording: str, tool: ToolSpec, values: Mapping[str, JSON]) -> None:
    prompt = fill_wording(wording, {"tool": tool.name, "arguments": write_arguments(values)})
    reply = model.ask(prompt, (tool,))
    assert sort_calls(*read_calls(reply)) == sort_calls((tool.name, values))


def check_empty(model: Model, wording: str, seed: int) -> None:
    reply = model.ask(fill_wording(wording, {"tool": "probe_now"}), (PROBE_NOW,))
    assert read_calls(reply) == [("probe_now", {})]


def check_silence(model: Model, wording: str, seed: int) -> None:
    for probe in ("no_call_wanted", "tag_in_text"):
        values = draw_values(probe, seed).values
        reply = model.ask(fill_wording(wording, values), BOTH)
        assert read_calls(reply) == []
        assert str(values["text"]) in (reply.text or "")


def check_round_trip(model: Model, wording: str, seed: int) -> None:
    values = draw_values("round_trip", seed).values
    arguments = {name: values[name] for name in ("message", "tag")}
    conversation = start_conversation(fill_wording(wording, {"tool": "probe_echo", **arguments}))
    reply = model.ask(conversation, (PROBE_ECHO,))
    assert read_calls(reply) == [("probe_echo", arguments)]
    check_nonce(model, conversation, reply, str(values["nonce"]))


def check_nonce(model: Model, conversation: Conversation, reply: Reply, nonce: str) -> None:
    add_results(conversation, reply, {"ok": True, "nonce": nonce})
    answer = model.ask(conversation, BOTH)
    assert read_calls(answer) == []
    assert nonce in (answer.text or "")


def check_parallel(model: Model, wording: str, seed: int) -> None:
    for probe in ("parallel_mixed", "parallel_same"):
        expected: Any = draw_values(probe, seed).values["calls"]
        prompt = fill_wording(wording, fill_pair(expected))
        reply = model.ask(prompt, BOTH)
        assert sort_calls(*read_calls(reply)) == sort_calls(*map(tuple, expected))
        if model.provider is Provider.OPENAI:
            assert len(model.ask(prompt, BOTH, parallel=False).calls) == 1


def fill_pair(two_calls: Any) -> dict[str, str]:
    (first, one), (second, other) = two_calls
    return {
        "first": first,
        "first_arguments": write_arguments(one),
        "second": second,
        "second_arguments": write_arguments(other),
    }


def check_streaming(model: Model, wording: str, seed: int) -> None:
    values: Any = draw_values("streaming", seed).values
    arguments = {f"{name}_arguments": write_arguments(values[name]) for name in ("echo", "add")}
    prompt = fill_wording(wording, {"echo": "probe_echo", "add": "probe_add", **arguments})
    expected = sort_calls(("probe_echo", values["echo"]), ("probe_add", values["add"]))
    assert sort_calls(*read_calls(model.ask(prompt, BOTH))) == expected
    assert sort_calls(*read_calls(model.ask(prompt, BOTH, stream=True))) == expected


def check_error_repair(model: Model, wording: str, seed: int) -> None:
    values = draw_values("error_repair", seed).values
    conversation = start_conversation(fill_wording(wording, {"tool": "probe_fail_once", **values}))
    reply = model.ask(conversation, (PROBE_FAIL_ONCE,))
    assert read_calls(reply) == [("probe_fail_once", values)]
    add_results(conversation, reply, ERROR)
    (corrected,) = model.ask(conversation, (PROBE_FAIL_ONCE,)).calls
    assert str(corrected.input["path"]).startswith(SAFE)


def check_adding(model: Model, wording: str, seed: int) -> None:
    for greeted in (False, True):
        values = draw_values("closure", seed).values
        conversation = Conversation()
        if greeted:
            conversation.add_user(GREETING)
            conversation.add_reply(Reply((Text(GREETED),), Stop.END), OWN_ORIGIN)
        conversation.add_user(fill_wording(wording, {"tool": "probe_add", **values}))
        reply = model.ask(conversation, BOTH)
        assert read_calls(reply) == [("probe_add", {"a": values["a"], "b": values["b"]})]
        check_nonce(model, conversation, reply, str(values["nonce"]))


def check_next(model: Model, wording: str, seed: int) -> None:
    values = draw_values("reasoning_replay", seed).values
    conversation = start_conversation(PROMPT.format(tool="probe_add", **values))
    add_results(conversation, model.ask(conversation, BOTH), {"nonce": values["nonce"]})
    conversation.add_reply(model.ask(conversation, BOTH), OWN_ORIGIN)
    conversation.add_user(fill_wording(wording, {"tool": "probe_echo", **values}))
    reply = model.ask(conversation, BOTH)
    assert read_calls(reply) == [
        ("probe_echo", {"message": values["message"], "tag": values["tag"]}),
    ]


def check_calling(model: Model, wording: str, seed: int) -> None:
    values = draw_values("tool_choice", seed).values
    prompt = fill_wording(wording, {"tool": "probe_echo", **values})
    assert read_calls(model.ask(prompt, BOTH, choice=AUTO)) == [("probe_echo", values)]
    assert read_calls(model.ask(prompt, BOTH, choice=NONE)) == []


def check_word(model: Model, wording: str, seed: int) -> None:
    prompt = fill_wording(wording, draw_values("tool_choice", seed).values)
    check_greeting(model, prompt, seed)
    assert model.ask(prompt, BOTH, choice=REQUIRED).calls
    named = model.ask(prompt, BOTH, choice=ToolChoice("named", "probe_add"))
    assert {call.name for call in named.calls} == {"probe_add"}


def check_greeting(model: Model, wording: str, seed: int) -> None:
    reply = model.ask(wording, BOTH)
    assert read_calls(reply) == []
    assert reply.text


CHECKS: Mapping[str, Callable[[Model, str, int], None]] = MappingProxyType(
    {
        "format": check_echo,
        "schema": check_schema,
        "empty": check_empty,
        "silence": check_silence,
        "round_trip": check_round_trip,
        "parallel": check_parallel,
        "streaming": check_streaming,
        "error_repair": check_error_repair,
        "adding": check_adding,
        "next": check_next,
        "calling": check_calling,
        "word_of_the_day": check_word,
        "greeting": check_greeting,
    }
)


def build_cases(wordings: Mapping[str, tuple[str, ...]]) -> list[Any]:
    return [
        pytest.param(group, wording, id=f"{group}-{number}")
        for group, group_wordings in wordings.items()
        for number, wording in enumerate(group_wordings, 1)
    ]


@pytest.mark.parametrize(("group", "wording"), build_cases(WORDINGS))
def test_every_wording_of_a_question_gets_the_right_behaviour(
    model: Model, group: str, wording: str
) -> None:
    """Ten wordings of one question lead to the same behaviour."""
    for seed in SEEDS:
        CHECKS[group](model, wording, seed)


@pytest.mark.parametrize(("group", "wording"), build_cases(FURTHER))
def test_ten_further_wordings_get_the_right_behaviour(
    model: Model, group: str, wording: str
) -> None:
    """The model understands wordings that it was not built for."""
    for seed in SEEDS:
        CHECKS[group](model, wording, seed)


OTHERS = {
    "/anthropic": (Provider.ANTHROPIC, "sim-steady"),
    "/gemini": (Provider.GEMINI, "sim-gemini-3"),
    "/deepseek/v1": (Provider.DEEPSEEK, "sim-v4"),
}


@pytest.mark.parametrize("number", [0, 4, 9])
@pytest.mark.parametrize("path", OTHERS)
def test_other_formats_get_the_same_behaviour(
    vendor_url: str, client: httpx.Client, path: str, number: int
) -> None:
    """The behaviour depends neither on the wire format nor on thinking."""
    provider, name = OTHERS[path]
    model = Model(provider, f"{vendor_url}{path}", name, client)
    # Thinking excludes a forced choice there.
    excluded = {"word_of_the_day"} if provider is Provider.DEEPSEEK else set()

    for group in WORDINGS.keys() - excluded:
        CHECKS[group](model, WORDINGS[group][number], 1)


def test_every_question_has_ten_wordings_and_ten_more() -> None:
    """Every question has twenty different wordings."""
    assert WORDINGS.keys() == FURTHER.keys() == CHECKS.keys()
    for group, wordings in WORDINGS.items():
        assert len({*wordings, *FURTHER[group]}) == 20
