from __future__ import annotations

from dataclasses import replace

from probes.messages import REQUIRED, Role, Text, ToolResult, Turn
from probes.suite.probe_tools import PROBE_ADD, PROBE_ECHO
from probes.suite.question_builder import MAX_TOKENS
from probes.suite.script_steps import start_conversation
from tests.probes.suite.script_player import DEEPSEEK, OPENAI, call, calls, thought

RESULT = ToolResult("c1", "{}", name="probe_add")


def test_a_question_carries_the_endpoints_model_options_and_room_to_think() -> None:
    """The operator's options and the suite's settings are sent together."""
    builder = replace(OPENAI, options={"temperature": 0})

    question = builder.call(start_conversation("Hi."), (PROBE_ECHO,), parallel=False, stream=True)

    assert (question.model, question.options, question.max_tokens) == (
        "m",
        {"temperature": 0},
        MAX_TOKENS,
    )
    assert (question.parallel, question.stream, question.tools) == (False, True, (PROBE_ECHO,))
    assert question.turns == (Turn(Role.USER, (Text("Hi."),)),)


def test_a_raw_question_sends_a_broken_history_as_it_is() -> None:
    """Deliberate violations must not be repaired."""
    orphan = (Turn(Role.USER, (Text("Hi."),)), Turn(Role.TOOL, (RESULT,)))

    assert OPENAI.raw_call(orphan, (PROBE_ADD,)).turns == orphan


def test_all_reasoning_goes_back_where_it_is_asked_for() -> None:
    """Also to an endpoint whose dialect would drop it, and across user turns."""
    conversation = start_conversation("Hi.")
    conversation.add_reply(calls(thought(), call("probe_add", {"a": 1, "b": 2})), "here")
    conversation.add_results([RESULT])
    conversation.add_user("And now?")

    guess = OPENAI.call(conversation, (PROBE_ADD,))
    fuller = OPENAI.with_all_reasoning().call(conversation, (PROBE_ADD,))

    assert "Hm." not in str(guess.turns)
    assert thought() in fuller.turns[1].parts


def test_every_choice_can_be_asked_for() -> None:
    """The dialect drops a forced choice while its model thinks; a measurement must not."""
    held = DEEPSEEK.call(start_conversation("Hi."), (PROBE_ADD,), choice=REQUIRED)
    free = DEEPSEEK.with_every_choice().call(
        start_conversation("Hi."), (PROBE_ADD,), choice=REQUIRED
    )

    assert (held.tool_choice, free.tool_choice) == (None, REQUIRED)
