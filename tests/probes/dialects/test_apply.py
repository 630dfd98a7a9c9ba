from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from probes.adapters import FORMATS
from probes.dialects import NAMED, Dialect, override_dialect
from probes.dialects.anthropic import ANTHROPIC, ANTHROPIC_BOUND
from probes.dialects.apply import apply_dialect, is_thinking
from probes.dialects.deepseek import DEEPSEEK, DEEPSEEK_ANTHROPIC
from probes.dialects.gemini import GEMINI
from probes.dialects.glm import GLM
from probes.dialects.kimi import KIMI, KIMI_K3
from probes.dialects.minimax import MINIMAX, MINIMAX_ANTHROPIC
from probes.dialects.mistral import MISTRAL
from probes.dialects.ollama import OLLAMA
from probes.dialects.openai import OPENAI, OPENAI_REASONING
from probes.dialects.plain import PLAIN
from probes.dialects.qwen import QWEN, QWEN_PRESERVED
from probes.history.request_changes import ChangeKind
from probes.messages import (
    AUTO,
    JSON,
    NONE,
    REQUIRED,
    ClientTool,
    ModelCall,
    Role,
    Text,
    ToolChoice,
    ToolSpec,
    Turn,
    VendorTool,
)
from tests.probes.history.turn_builders import ASK, NEXT, answer, call, result, tool

TOOL = ToolSpec("f", "Does f.", {"type": "object"})
NAMED_F = ToolChoice("named", "f")


def question(*turns: Turn, **more: Any) -> ModelCall:
    return ModelCall("m", turns or (ASK,), **{"tools": (TOOL,), **more})


def choice_sent(dialect: Dialect, choice: ToolChoice, **options: JSON) -> ToolChoice | None:
    return apply_dialect(question(tool_choice=choice, options=options), dialect).call.tool_choice


def kinds(call: ModelCall, dialect: Dialect) -> list[ChangeKind]:
    return [change.kind for change in apply_dialect(call, dialect).changes]


@pytest.mark.parametrize("choice", [REQUIRED, NAMED_F])
def test_z07_deepseek_gets_no_forced_choice_while_it_thinks(choice: ToolChoice) -> None:
    """It thinks by default; with thinking off every choice is sent."""
    assert choice_sent(DEEPSEEK, choice) is None
    assert choice_sent(DEEPSEEK, choice, thinking={"type": "disabled"}) == choice
    assert kinds(question(tool_choice=choice), DEEPSEEK) == [ChangeKind.TOOL_CHOICE_DROPPED]


def test_z07_auto_is_left_out_in_thinking_and_none_is_kept() -> None:
    """Sources disagree about auto, which is the default anyway."""
    assert choice_sent(DEEPSEEK, AUTO) is None
    assert choice_sent(DEEPSEEK, NONE) == NONE


@pytest.mark.parametrize("choice", [REQUIRED, NAMED_F])
def test_z09_kimi_gets_no_forced_choice_while_it_thinks(choice: ToolChoice) -> None:
    """It would answer 400, which appears as an empty turn."""
    assert choice_sent(KIMI, choice) is None
    assert choice_sent(KIMI, choice, thinking={"type": "disabled"}) == choice
    assert choice_sent(KIMI, AUTO) == AUTO
    assert choice_sent(KIMI_K3, REQUIRED) == REQUIRED
    assert choice_sent(KIMI_K3, NAMED_F, thinking={"type": "disabled"}) is None


def test_z70_dashscope_gets_no_forced_choice_while_it_thinks() -> None:
    """required and named are refused in thinking mode only."""
    assert choice_sent(QWEN, REQUIRED) is None
    assert choice_sent(QWEN, REQUIRED, enable_thinking=False) == REQUIRED
    assert choice_sent(QWEN, AUTO) == AUTO


def test_z67_a_forced_choice_never_meets_thinking_at_anthropic() -> None:
    """Anthropic refuses it and a relay silently drops the thinking instead."""
    assert choice_sent(ANTHROPIC, REQUIRED) == REQUIRED
    assert choice_sent(ANTHROPIC, REQUIRED, thinking={"type": "adaptive"}) is None
    assert choice_sent(ANTHROPIC, REQUIRED, thinking={"type": "enabled"}) is None
    assert choice_sent(ANTHROPIC_BOUND, REQUIRED) is None
    assert not ANTHROPIC.forced_choice_with_thinking
    assert KIMI_K3.forced_choice_with_thinking


@pytest.mark.parametrize("thinking", [None, {"type": "adaptive"}, {"type": "disabled"}])
def test_z62_a_model_that_always_thinks_is_never_forced(thinking: JSON) -> None:
    """A forced choice is a 400, whatever the request says about thinking."""
    options = {} if thinking is None else {"thinking": thinking}

    assert choice_sent(ANTHROPIC_BOUND, REQUIRED, **options) is None
    assert choice_sent(ANTHROPIC_BOUND, NAMED_F, **options) is None
    assert choice_sent(ANTHROPIC_BOUND, AUTO, **options) == AUTO


def test_glm_takes_auto_only_and_is_not_offered_tools_it_may_not_call() -> None:
    """There is no other way to forbid calls."""
    applied = apply_dialect(question(tool_choice=NONE), GLM)

    assert choice_sent(GLM, AUTO) == AUTO
    assert choice_sent(GLM, REQUIRED, thinking={"type": "disabled"}) is None
    assert (applied.call.tools, applied.call.tool_choice) == ((), None)
    assert [change.kind for change in applied.changes] == [
        ChangeKind.TOOL_CHOICE_DROPPED,
        ChangeKind.TOOLS_WITHHELD,
    ]


def test_the_clients_own_fields_say_whether_the_model_thinks() -> None:
    """A client's fields are kept under the name of its format."""
    fields: JSON = {"thinking": {"type": "disabled", "more": 1}}

    assert not is_thinking(question(extra={"openai": fields}), DEEPSEEK)
    assert is_thinking(question(), DEEPSEEK)
    assert not is_thinking(question(), PLAIN)
    assert is_thinking(question(), override_dialect(PLAIN, {"thinking": {"off": None}}))
    assert is_thinking(question(options={"thinking": {"type": "disabled"}}), ANTHROPIC_BOUND)


def test_thinking_is_switched_where_it_can_be() -> None:
    """If it cannot be switched, that is reported."""
    off = apply_dialect(question(tool_choice=REQUIRED), DEEPSEEK, thinking=False)
    stuck = apply_dialect(question(), KIMI_K3, thinking=False)
    on = apply_dialect(question(), QWEN, thinking=True)

    assert off.call.options == {"thinking": {"type": "disabled"}}
    assert off.call.tool_choice == REQUIRED
    assert [change.kind for change in stuck.changes] == [ChangeKind.THINKING_UNAVAILABLE]
    assert on.call.options == {"enable_thinking": True}


@pytest.mark.parametrize("tools", [True, False])
@pytest.mark.parametrize("stream", [True, False])
def test_minimax_is_asked_to_split_its_reasoning_off(tools: bool, stream: bool) -> None:
    """Otherwise the thoughts stand in the content, between tags."""
    call = question(stream=stream) if tools else question(stream=stream, tools=())
    applied = apply_dialect(call, MINIMAX)

    assert applied.call.options == {"reasoning_split": True}
    assert [change.kind for change in applied.changes] == [ChangeKind.OPTION_ADDED]
    assert apply_dialect(call, MINIMAX_ANTHROPIC).call.options == {}


def test_an_operator_can_keep_the_reasoning_in_the_content() -> None:
    """The operator's own options win over the fields of a dialect."""
    applied = apply_dialect(question(options={"reasoning_split": False}), MINIMAX)

    assert (applied.call.options, applied.changes) == ({"reasoning_split": False}, ())


@pytest.mark.parametrize("schema", [None, {}])
def test_z39_a_tool_without_parameters_is_sent_with_an_empty_schema(
    schema: dict[str, JSON] | None,
) -> None:
    """MiniMax answers 2013 to a tool without parameters."""
    applied = apply_dialect(question(tools=(ToolSpec("f", "", schema),)), MINIMAX)

    assert applied.call.tools[0].schema == {"type": "object", "properties": {}}
    assert ChangeKind.SCHEMA_FILLED in [change.kind for change in applied.changes]
    assert (
        apply_dialect(question(tools=(ToolSpec("f", "", None),)), GEMINI).call.tools[0].schema
        is None
    )


def test_z38_a_call_without_argument_text_is_sent_with_an_empty_object() -> None:
    """An empty string is not JSON, and the vendor refuses the whole history."""
    empty_call = replace(call(), raw="")

    applied = apply_dialect(question(ASK, answer(empty_call), tool(result())), MINIMAX)

    assert applied.call.turns[1].calls[0].raw == "{}"
    assert ChangeKind.ARGUMENTS_FILLED in [change.kind for change in applied.changes]


def test_z56_the_developer_role_becomes_system() -> None:
    """DeepSeek does not know it; OpenAI does."""
    developer = Turn(
        Role.SYSTEM, (Text("x"),), extra={"openai": {"role": "developer", "name": "n"}}
    )

    applied = apply_dialect(question(developer, ASK), DEEPSEEK)

    assert applied.call.turns[0].extra == {"openai": {"name": "n"}}
    assert [change.kind for change in applied.changes] == [ChangeKind.ROLE_MAPPED]
    assert apply_dialect(question(developer, ASK), OPENAI).call.turns[0] == developer


def test_z57_tools_that_are_no_functions_are_dropped() -> None:
    """Most vendors only support the type function."""
    other = VendorTool("web", "web_search", "openai", {"type": "web_search"})
    call = question(vendor_tools=(other,))

    applied = apply_dialect(call, DEEPSEEK)

    assert applied.call.vendor_tools == ()
    assert [change.kind for change in applied.changes] == [ChangeKind.TOOL_DROPPED]
    assert apply_dialect(call, OPENAI).call.vendor_tools == (other,)


def test_z57_free_text_is_offered_as_a_function() -> None:
    """A vendor of functions gets the tool, its calls and their results as those of a function."""
    declared = ClientTool("openai", "sh", custom=True)
    tool_ = replace(TOOL, client_tool=declared)
    called = replace(call("c1"), client_tool=declared)

    applied = apply_dialect(
        question(ASK, answer(called), tool(result("c1")), tools=(tool_,)), DEEPSEEK
    )

    assert applied.call.tools == (TOOL,)
    assert applied.call.turns[1].calls[0].client_tool is None


def test_z57_tools_that_anthropic_runs_are_dropped_at_its_imitations() -> None:
    """Compatible vendors lack its server tools; Anthropic itself keeps them."""
    server: JSON = {"type": "web_search_20260318", "name": "web_search"}
    body: JSON = {"model": "m", "messages": [], "tools": [server]}
    call = FORMATS["anthropic"].read_request(body)

    applied = apply_dialect(call, DEEPSEEK_ANTHROPIC)

    assert applied.call.vendor_tools == ()
    assert [change.kind for change in applied.changes] == [ChangeKind.TOOL_DROPPED]
    kept = apply_dialect(call, ANTHROPIC).call
    assert FORMATS["anthropic"].write_request(kept)["tools"] == [server]


def test_z59_an_effort_is_sent_in_the_vendors_words() -> None:
    """Hosts of DeepSeek refuse xhigh."""
    applied = apply_dialect(question(options={"reasoning_effort": "xhigh", "seed": 1}), DEEPSEEK)

    assert applied.call.options == {"seed": 1, "reasoning_effort": "high"}
    assert [change.kind for change in applied.changes] == [ChangeKind.EFFORT_MAPPED]
    assert apply_dialect(question(options={"reasoning_effort": "high"}), DEEPSEEK).changes == ()


def test_z59_an_effort_that_a_client_asked_for_is_mapped_too() -> None:
    """The client's field is kept under its format and would be sent unchanged."""
    call = question(extra={"openai": {"reasoning_effort": "xhigh", "seed": 1}})

    applied = apply_dialect(call, DEEPSEEK)

    assert applied.call.extra == {"openai": {"seed": 1, "reasoning_effort": "high"}}
    assert [change.path for change in applied.changes] == ["$.extra.openai.reasoning_effort"]


def test_z64_an_effort_that_would_be_misunderstood_is_left_out() -> None:
    """GLM reads none as the deepest thinking."""
    assert apply_dialect(question(options={"reasoning_effort": "none"}), GLM).call.options == {}


def test_z61_tools_on_chat_completions_go_with_effort_none() -> None:
    """Models that reason by default refuse tools there; the operator's setting wins."""
    chosen = question(options={"reasoning_effort": "low"})

    def effort(call: ModelCall, dialect: Dialect) -> JSON:
        return apply_dialect(call, dialect).call.options.get("reasoning_effort")

    assert effort(question(), OPENAI_REASONING) == "none"
    assert effort(chosen, OPENAI_REASONING) == "low"
    assert effort(question(tools=()), OPENAI_REASONING) is None
    assert effort(question(), OPENAI) is None


def test_z63_preserved_thinking_is_asked_for() -> None:
    """The template drops the reasoning of older turns by default."""
    assert apply_dialect(question(), QWEN_PRESERVED).call.options == {
        "chat_template_kwargs": {"preserve_thinking": True}
    }
    chosen = question(options={"chat_template_kwargs": {"lang": "de"}})
    assert apply_dialect(chosen, QWEN_PRESERVED).call.options == {
        "chat_template_kwargs": {"lang": "de", "preserve_thinking": True}
    }


def test_z65_the_assistant_speaks_between_a_result_and_the_user() -> None:
    """Mistral refuses a user turn right after a tool turn, code 3230."""
    model_call = question(ASK, answer(call()), tool(result()), NEXT)

    applied = apply_dialect(model_call, MISTRAL)

    assert applied.call.turns == (*model_call.turns[:3], answer(Text("Done.")), NEXT)
    assert [change.kind for change in applied.changes] == [ChangeKind.BRIDGE_INSERTED]
    assert apply_dialect(question(ASK, answer(call()), tool(result())), MISTRAL).changes == ()
    assert apply_dialect(model_call, DEEPSEEK).call.turns == model_call.turns


def test_z65_results_and_words_of_one_user_turn_are_parted_by_the_bridge() -> None:
    """A client may put both into one message."""
    mixed = Turn(Role.USER, (result(), Text("And?")))

    applied = apply_dialect(question(ASK, answer(call()), mixed), MISTRAL)

    assert applied.call.turns[2:] == (
        tool(result()),
        answer(Text("Done.")),
        Turn(Role.USER, (Text("And?"),)),
    )


def test_z65_nothing_stands_between_results_or_before_the_assistants_own_word() -> None:
    """The bridge is only for user turns: a second result or an answer needs none."""
    model_call = question(
        ASK,
        answer(call("a"), call("b")),
        tool(result("a")),
        tool(result("b")),
        answer(Text("So.")),
        NEXT,
    )

    assert apply_dialect(model_call, MISTRAL).call.turns == model_call.turns


def test_ollama_gets_results_in_the_order_of_the_calls() -> None:
    """Older builds pair by order and not by id."""
    model_call = question(
        ASK, answer(call("a"), call("b")), tool(result("b", "2")), tool(result("a", "1"))
    )

    applied = apply_dialect(model_call, OLLAMA)

    assert applied.call.turns[2:] == (tool(result("a", "1")), tool(result("b", "2")))
    assert [change.kind for change in applied.changes] == [ChangeKind.RESULTS_REORDERED]


def test_switches_that_a_vendor_does_not_have_are_dropped() -> None:
    """No parallel switch, no strict flag, no tool_choice at Ollama."""
    strict = ToolSpec("f", "", {"type": "object"}, strict=True)
    call = question(tools=(strict,), parallel=False, tool_choice=AUTO)

    applied = apply_dialect(call, OLLAMA)

    assert applied.call.parallel is None
    assert applied.call.tool_choice is None
    assert applied.call.tools[0].strict is None
    assert len(applied.changes) == 3
    assert apply_dialect(call, OPENAI).call == call


def test_strict_at_deepseek_needs_the_beta_url() -> None:
    """An override declares that this URL is used."""
    call = question(tools=(ToolSpec("f", "", {"type": "object"}, strict=True),))

    assert apply_dialect(call, DEEPSEEK).call.tools[0].strict is None
    assert (
        apply_dialect(call, override_dialect(DEEPSEEK, {"strict": "tool"})).call.tools[0].strict
        is True
    )


def test_glm_streams_calls_when_asked_to() -> None:
    """Only in streams with tools, and not against the operator's setting."""
    assert apply_dialect(question(stream=True), GLM).call.options == {"tool_stream": True}
    assert apply_dialect(question(stream=True, tools=()), GLM).call.options == {}
    assert apply_dialect(question(), GLM).call.options == {}
    options: dict[str, JSON] = {"tool_stream": False}
    assert apply_dialect(question(stream=True, options=options), GLM).call.options == options


choices = st.sampled_from([None, AUTO, NONE, REQUIRED, NAMED_F])


@given(st.sampled_from(sorted(NAMED)), choices, st.booleans(), st.sampled_from([None, True, False]))
def test_applying_twice_changes_nothing_more(
    name: str, choice: ToolChoice | None, stream: bool, parallel: bool | None
) -> None:
    """The result is already in the vendor's form, and all changes were reported."""
    model_call = question(
        ASK,
        answer(call("a"), call("b")),
        tool(result("b"), result("a")),
        NEXT,
        tool_choice=choice,
        stream=stream,
        parallel=parallel,
    )

    once = apply_dialect(model_call, NAMED[name])
    twice = apply_dialect(once.call, NAMED[name])

    assert twice == type(twice)(once.call, ())
    assert (once.call == model_call) == (not once.changes)
