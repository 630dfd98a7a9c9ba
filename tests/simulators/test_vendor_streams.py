from __future__ import annotations

import json
import random
from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typing_extensions import override

from probes.adapters import FORMATS
from probes.events import Event, PartDelta, ReplyEnded
from probes.messages import JSON, ModelCall, Reply, Role, Text, ToolResult, Turn
from probes.suite.probe_tools import PROBE_ECHO
from simulators.model.answers import answer_request
from simulators.vendors.hooks import FaultHooks
from simulators.vendors.request_handler import RequestHandler
from simulators.vendors.spec import Spec, VendorRequest
from simulators.vendors.vendor_registry import SPECS

every_vendor = pytest.mark.parametrize("spec", SPECS, ids=lambda spec: spec.name)
PROMPT = "Call probe_echo twice in one turn.\nmessage: ü one\ntag: alpha\nmessage: two\ntag: beta"


def build_call(spec: Spec, prompt: str = PROMPT) -> ModelCall:
    turns = (Turn(Role.USER, (Text(prompt),)),)
    return ModelCall(next(iter(spec.models)), turns, tools=(PROBE_ECHO,))


def build_request(spec: Spec, prompt: str = PROMPT) -> VendorRequest:
    """A request to the vendor's first model, with thinking."""
    model = next(iter(spec.models.values()))
    return VendorRequest({}, {}, build_call(spec, prompt), model, thinks=True)


def build_handler(spec: Spec, *fault_hooks: FaultHooks) -> RequestHandler:
    return RequestHandler(spec, fault_hooks, random.Random(1))


def read_stream(handler: RequestHandler, reply: Reply) -> Reply:
    reader = FORMATS[handler.spec.format].read_stream()
    events: list[Event] = []
    for chunk in handler.build_chunks(reply):
        events += reader.feed(chunk)
    events += reader.close()
    last = events[-1]
    assert isinstance(last, ReplyEnded)
    return last.reply


@every_vendor
@pytest.mark.parametrize("prompt", [PROMPT, "How are you?"])
def test_a_stream_has_the_same_content_as_the_whole_answer(spec: Spec, prompt: str) -> None:
    """The format's adapter reads the same parts from both, without deviations."""
    handler = build_handler(spec)
    reply = handler.build_reply(build_request(spec, prompt))

    whole = FORMATS[spec.format].read_reply(json.loads(handler.encode_reply(reply)))
    streamed = read_stream(handler, reply)

    assert [(c.id, c.name, c.input) for c in streamed.calls] == [
        (c.id, c.name, c.input) for c in whole.calls
    ]
    assert len(whole.calls) == (2 if prompt == PROMPT else 0)
    assert (streamed.text, streamed.reasoning) == (whole.text, whole.reasoning)
    assert not streamed.deviations
    assert not whole.deviations


class EveryStageFault(FaultHooks):
    """Changes the answer at every stage, visibly."""

    @override
    def reply(self, reply: Reply, request: VendorRequest, rng: random.Random) -> Reply:
        return Reply((Text("abc"),), reply.stop, model=reply.model)

    @override
    def events(self, events: Sequence[Event], rng: random.Random) -> Sequence[Event]:
        return [PartDelta(e.index, "xyz") if isinstance(e, PartDelta) else e for e in events]

    @override
    def chunks(self, chunks: Sequence[bytes], rng: random.Random) -> Sequence[bytes]:
        return [*chunks, b"\n"]

    @override
    def body(self, body: Mapping[str, JSON], rng: random.Random) -> Mapping[str, JSON]:
        return {**body, "mumbled": True}

    @override
    def spec(self, spec: Spec) -> Spec:
        return replace(spec, echo="other")


def test_hooks_change_the_reply_its_events_its_body_and_its_bytes() -> None:
    """The handler applies the hooks of every stage."""
    handler = build_handler(SPECS[0], EveryStageFault())
    reply = handler.build_reply(build_request(SPECS[0], "How are you?"))

    assert reply.text == "abc"
    assert read_stream(handler, reply).text == "xyz"
    assert handler.build_chunks(reply)[-1] == b"\n"
    assert json.loads(handler.encode_reply(reply))["mumbled"] is True


@settings(max_examples=150, deadline=None)
@given(
    st.text(alphabet="probe_echo message tag:=\"'`{}[]|\n,.and as alpha 1²", max_size=200),
    st.text(alphabet='{}":error,message at least 5 must be one of tag', max_size=80),
)
def test_the_model_answers_any_text(prompt: str, error_text: str) -> None:
    """Any prompt and any error text get an answer that can be written as JSON."""
    first = answer_request(build_call(SPECS[0], f"Call probe_echo {prompt}"))
    turns = list(build_call(SPECS[0], f"Call probe_echo {prompt}").turns)
    style = SPECS[0].style
    call = ModelCall("sim-steady", tuple(turns), tools=(PROBE_ECHO,))
    reply = style.build_reply(first, call, random.Random(1), thinks=False, signs=False)
    results = tuple(ToolResult(made.id, error_text, is_error=True) for made in reply.calls)
    history = (*turns, reply.as_turn(), Turn(Role.TOOL, results))

    second = answer_request(ModelCall("sim-steady", history, tools=(PROBE_ECHO,)))

    for tool_request in (*first.tool_requests, *second.tool_requests):
        json.dumps(dict(tool_request.arguments), allow_nan=False)
