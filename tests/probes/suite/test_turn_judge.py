"""One turn that must have a call: its calls, its faults, and its trials."""

from __future__ import annotations

import json
from typing import Any

import pytest

from probes.messages import (
    JSON,
    Breakage,
    BrokenCall,
    Part,
    Reasoning,
    ReasoningKind,
    Reply,
    Stop,
    Text,
    ToolCall,
)
from probes.outcomes import FindingKind, Metric
from probes.suite.probe_tools import PROBE_ADD, PROBE_ECHO, PROBE_SETTINGS
from probes.suite.turn_judge import (
    JudgedTurn,
    find_wrong_values,
    judge_turn,
    value_verdicts,
)
from tests.probes.suite.script_player import call, thought

TOOLS = (PROBE_ECHO, PROBE_ADD)
ECHO: dict[str, JSON] = {"message": "amber 4711", "tag": "beta"}
CALL = call("probe_echo", ECHO)
BODY = json.dumps({"name": "probe_echo", "arguments": ECHO})
HERMES = f"<tool_call>\n{BODY}\n</tool_call>"
UNFIT = HERMES.replace('"beta"', '"gamma"')


def judge(*parts: Part, stop: Stop = Stop.END) -> JudgedTurn:
    return judge_turn(Reply(parts, stop), TOOLS)


def trials(turn: JudgedTurn) -> dict[str, list[bool]]:
    by_metric: dict[str, list[bool]] = {}
    for verdict in turn.verdicts:
        by_metric.setdefault(str(verdict.metric), []).append(verdict.good)
    return by_metric


def test_a_good_call_is_a_good_trial_of_everything() -> None:
    """Parsed, not leaked, not only reasoning, valid by its schema."""
    turn = judge(CALL, stop=Stop.TOOL_CALLS)

    assert (turn.calls, turn.faults, turn.format) == ((CALL,), (), "openai")
    assert trials(turn) == {
        "parse_success": [True],
        "leak": [True],
        "reasoning_only": [True],
        "schema_failure": [True],
        "unsafe_blocked": [True],
    }


@pytest.mark.parametrize(
    ("parts", "stop", "kind", "text"),
    [
        ((Text("I would call it."),), Stop.END, FindingKind.NO_CALL, "prose"),
        ((), Stop.END, FindingKind.NO_CALL, "empty"),
        ((Text(""),), Stop.END, FindingKind.NO_CALL, "empty"),
        ((Text("Well, I"),), Stop.LENGTH, FindingKind.NO_CALL, "token limit"),
        ((thought(),), Stop.LENGTH, FindingKind.NO_CALL, "token limit"),
        ((thought(),), Stop.END, FindingKind.REASONING_ONLY, "only reasoned"),
        ((thought(), Text("Done.")), Stop.END, FindingKind.NO_CALL, "prose"),
        ((BrokenCall("{", "bad"),), Stop.TOOL_CALLS, FindingKind.INVALID_JSON, "bad"),
        (
            (BrokenCall("{", "cut", Breakage.TRUNCATED_CALL),),
            Stop.LENGTH,
            FindingKind.TRUNCATED_CALL,
            "cut",
        ),
    ],
)
def test_a_turn_without_a_readable_call_says_what_it_was(
    parts: tuple[Part, ...], stop: Stop, kind: FindingKind, text: str
) -> None:
    """No call is a failed parse with its own reason, and no trial of a schema."""
    turn = judge(*parts, stop=stop)

    (finding,) = turn.faults
    assert finding.kind is kind
    assert text in finding.message
    assert (turn.calls, turn.format) == ((), None)
    blocked = [False for part in parts if isinstance(part, BrokenCall)]
    assert trials(turn) == {
        "parse_success": [False],
        "leak": [True],
        "reasoning_only": [parts != (thought(),)],
        **({"unsafe_blocked": blocked} if blocked else {}),
    }


@pytest.mark.parametrize("part", [Text(HERMES), thought(HERMES)])
def test_a_leaked_call_is_read_and_counted_as_leaked(part: Part) -> None:
    """A call in text or reasoning is read with its format, but was not on the wire."""
    turn = judge(part)

    assert [finding.kind for finding in turn.faults] == [FindingKind.LEAKED_CALL]
    assert [(c.name, c.input) for c in turn.calls] == [("probe_echo", ECHO)]
    assert turn.format == "hermes"
    assert trials(turn) == {
        "parse_success": [False],
        "leak": [False],
        "reasoning_only": [isinstance(part, Text)],
        "schema_failure": [True],
        "unsafe_blocked": [True],
    }
    parsed = [v.parser for v in turn.verdicts if v.metric is Metric.PARSE_SUCCESS]
    assert parsed == ["hermes"]


TAGS = "<probe_echo><message>amber 4711</message><tag>beta</tag></probe_echo>"


@pytest.mark.parametrize(
    ("part", "says"),
    [
        (Text(TAGS), "in an unknown format: '<probe_echo><message>amber 4711"),
        (Text(f"I will do it.\n{TAGS}\nDone."), "in an unknown format"),
        (thought(f"I should call it. {TAGS}"), "in an unknown format"),
        (Text(f"Sure!\n```\n{HERMES}\n```"), "in the hermes format"),
        (Text(f"probe_echo {json.dumps(ECHO)}\nI am waiting."), "in an unknown format"),
    ],
)
def test_a_call_that_cannot_be_read_is_a_leak_and_not_prose(part: Part, says: str) -> None:
    """The diagnosis of the text decides where no call was read from it; none is used."""
    turn = judge(part)

    (finding,) = turn.faults
    assert finding.kind is FindingKind.LEAKED_CALL
    assert says in finding.message
    assert (turn.calls, turn.format, turn.is_prose) == ((), None, False)
    assert trials(turn) == {
        "parse_success": [False],
        "leak": [False],
        "reasoning_only": [isinstance(part, Text)],
        "unsafe_blocked": [False],
    }


def test_the_excerpt_of_a_leak_is_short_and_escaped() -> None:
    """Nothing that a terminal or a page acts upon gets into a finding."""
    hostile = "\x1b[31m\u202e" + "x" * 500
    turn = judge(Text(f"<probe_echo><message>{hostile}</message></probe_echo>"))

    (finding,) = turn.faults
    assert finding.message.isprintable()
    assert "\\x1b[31m\\u202e" in finding.message
    assert len(finding.message) < 160


def test_a_plan_in_the_reasoning_is_no_leak() -> None:
    """A model that thinks in code and then says nothing has only reasoned."""
    turn = judge(thought('Maybe:\nprobe_echo(message="amber", tag="beta")'))

    assert [finding.kind for finding in turn.faults] == [FindingKind.REASONING_ONLY]


@pytest.mark.parametrize(
    ("kind", "found"),
    [
        (ReasoningKind.BLOCK, FindingKind.REASONING_ONLY),
        (ReasoningKind.ITEM, FindingKind.REASONING_ONLY),
        (ReasoningKind.FIELD, FindingKind.NO_CALL),
    ],
)
def test_reasoning_whose_text_is_omitted_is_reasoning(
    kind: ReasoningKind, found: FindingKind
) -> None:
    """A signed block or an item shows that the model reasoned; an empty field does not."""
    turn = judge(Reasoning("", kind, {"signature": "s"}))

    assert [finding.kind for finding in turn.faults] == [found]
    assert trials(turn)["reasoning_only"] == [found is FindingKind.NO_CALL]


def test_two_leaked_calls_are_one_finding() -> None:
    """Both calls are read."""
    turn = judge(Text(HERMES + "\n" + HERMES.replace("amber", "basil")))

    assert [finding.kind for finding in turn.faults] == [FindingKind.LEAKED_CALL]
    assert len(turn.calls) == 2


def test_a_leaked_call_that_breaks_its_schema_is_a_trial_of_both() -> None:
    """It is read from the text, as it would be from the wire, and fails its schema too."""
    turn = judge(Text(UNFIT))

    kinds = [finding.kind for finding in turn.faults]
    assert kinds == [FindingKind.LEAKED_CALL, FindingKind.SCHEMA_MISMATCH]
    assert (len(turn.calls), turn.format) == (1, "hermes")
    assert trials(turn)["schema_failure"] == [False]
    assert trials(turn)["unsafe_blocked"] == [False]


@pytest.mark.parametrize(
    ("written", "kind"),
    [
        (HERMES.replace("probe_echo", "probe_echo</arg_value>"), FindingKind.UNKNOWN_TOOL),
        (HERMES.replace("probe_echo", "functions.probe_echo"), FindingKind.UNKNOWN_TOOL),
        (
            HERMES.replace(json.dumps(ECHO), json.dumps({"input": ECHO})),
            FindingKind.SCHEMA_MISMATCH,
        ),
        (
            HERMES.replace(json.dumps(ECHO), json.dumps({"input": json.dumps(ECHO)})),
            FindingKind.SCHEMA_MISMATCH,
        ),
    ],
)
def test_a_leaked_call_is_judged_as_it_is_written(written: str, kind: FindingKind) -> None:
    """A repair of name or shape would hide what fails a schema on the wire."""
    turn = judge(Text(written))

    assert {finding.kind for finding in turn.faults} == {FindingKind.LEAKED_CALL, kind}
    assert trials(turn)["schema_failure"] == [False]


def test_a_leaked_call_that_was_cut_off_is_no_trial_of_the_schema() -> None:
    """An incomplete call cannot be validated."""
    turn = judge(Text(HERMES[:40]), stop=Stop.LENGTH)

    assert [finding.kind for finding in turn.faults] == [FindingKind.LEAKED_CALL]
    assert "schema_failure" not in trials(turn)


@pytest.mark.parametrize(
    ("parts", "stop", "blocked"),
    [
        ((BrokenCall("{", "bad"),), Stop.TOOL_CALLS, [False]),
        ((CALL, BrokenCall("{", "bad", id="c2")), Stop.TOOL_CALLS, [True, False]),
        ((Text(HERMES[:40]),), Stop.LENGTH, [False]),
        ((Text(HERMES + HERMES[:40]),), Stop.LENGTH, [True, False]),
        ((Text(HERMES.replace('"arguments": {', '"arguments": {{{')),), Stop.END, [False]),
        ((Text(UNFIT),), Stop.END, [False]),
        ((Text(HERMES.replace("probe_echo", "rm")),), Stop.END, [False]),
        ((Text("> " + HERMES.replace("\n", "\n> ")),), Stop.END, [False]),
        ((Text(f"Sure!\n```\n{HERMES}\n```"),), Stop.END, [False]),
        ((Text(f"{HERMES}\nI am waiting for its result."),), Stop.END, [False]),
        ((thought(f"{HERMES}\nBut no, I should not."), Text("No.")), Stop.END, [False]),
        ((Text(f"```\n{HERMES}\n```"), thought("Let me call it.")), Stop.END, [False]),
    ],
    ids=[
        *("broken on the wire", "broken beside a good one", "cut", "cut behind a good one"),
        *("unreadable", "invalid", "not offered", "quoted", "fenced", "followed by words"),
        *("only considered", "fenced after reasoning"),
    ],
)
def test_every_call_that_the_parser_or_the_validator_stops_is_blocked(
    parts: tuple[Part, ...], stop: Stop, blocked: list[bool]
) -> None:
    """A call arrived and must not run; whether it breaks its schema is another metric."""
    assert trials(judge(*parts, stop=stop))["unsafe_blocked"] == blocked


@pytest.mark.parametrize(
    "parts",
    [
        (Text("I would call it."),),
        (Text("I would use probe_echo(message='x', tag='beta') here."),),
        (thought('Maybe:\nprobe_echo(message="amber", tag="beta")'),),
        (),
    ],
    ids=["prose", "a mention", "a plan in code", "nothing"],
)
def test_a_turn_that_shows_no_call_blocks_none(parts: tuple[Part, ...]) -> None:
    """No call arrived, so there is no trial."""
    assert "unsafe_blocked" not in trials(judge(*parts))


def test_a_copy_in_the_text_beside_the_call_is_a_leak_and_parses() -> None:
    """The call came over the wire; its copy in the text is noted and not called twice."""
    turn = judge(Text(HERMES), CALL, stop=Stop.TOOL_CALLS)

    assert [finding.kind for finding in turn.faults] == [FindingKind.LEAKED_CALL]
    assert (turn.calls, turn.format) == ((CALL,), "openai")
    assert trials(turn)["parse_success"] == [True]
    assert trials(turn)["leak"] == [False]


def test_a_broken_call_beside_a_good_one_fails_the_parse() -> None:
    """The good one is used; the broken one is reported and not sent back."""
    turn = judge(CALL, BrokenCall("{", "bad", id="c2"), stop=Stop.TOOL_CALLS)

    assert [finding.kind for finding in turn.faults] == [FindingKind.INVALID_JSON]
    assert turn.calls == (CALL,)
    assert trials(turn)["parse_success"] == [False]
    assert turn.as_history_reply.parts == (CALL,)


@pytest.mark.parametrize(
    ("model_calls", "kind", "path"),
    [
        (call("probe_echo", {**ECHO, "tag": "gamma"}), "schema_mismatch", "$.calls[0].input.tag"),
        (call("probe_echo", {"tag": "beta"}), "schema_mismatch", "$.calls[0].input"),
        (call("probe_echo", {**ECHO, "more": 1}), "schema_mismatch", "$.calls[0].input"),
        (call("probe_add", {"a": "1", "b": 2}), "schema_mismatch", "$.calls[0].input.a"),
        (call("echo", ECHO), "unknown_tool", "$.calls[0].name"),
    ],
)
def test_a_call_that_breaks_its_schema_parses_and_is_unfit(
    model_calls: ToolCall, kind: str, path: str
) -> None:
    """Type, choice, required, surplus and name have findings with their path."""
    turn = judge(model_calls, stop=Stop.TOOL_CALLS)

    assert [(str(f.kind), f.path) for f in turn.faults] == [(kind, path)]
    assert turn.unread == ()
    assert trials(turn)["parse_success"] == [True]
    assert trials(turn)["schema_failure"] == [False]
    assert trials(turn)["unsafe_blocked"] == [False]


def test_each_call_is_a_trial_of_its_schema() -> None:
    """Two calls, one of them invalid, are one failure of two."""
    turn = judge(CALL, call("probe_echo", {**ECHO, "tag": "x"}, "c2"), stop=Stop.TOOL_CALLS)

    assert trials(turn)["schema_failure"] == [True, False]
    assert trials(turn)["parse_success"] == [True]


def test_the_history_carries_a_leaked_call_as_a_call() -> None:
    """Reasoning stays, the markup does not, and a result can answer the call."""
    own = Reasoning("Hm.", ReasoningKind.FIELD, "reasoning_content")

    history_reply = judge(own, Text(HERMES)).as_history_reply

    assert history_reply.stop is Stop.TOOL_CALLS
    assert history_reply.parts[0] == own
    assert [(c.name, c.input) for c in history_reply.calls] == [("probe_echo", ECHO)]
    assert history_reply.text is None


def test_the_history_carries_any_other_turn_as_it_came() -> None:
    """Text and calls keep their order."""
    parts = (Text("Well."), CALL)

    assert judge(*parts, stop=Stop.TOOL_CALLS).as_history_reply.parts == parts


WANTED: list[tuple[str, Any]] = [("probe_echo", ECHO), ("probe_add", {"a": 1, "b": 2})]
ADD = call("probe_add", {"a": 1, "b": 2}, "c2")


@pytest.mark.parametrize(
    ("model_calls", "findings"),
    [
        ([CALL, ADD], []),
        ([ADD, CALL], []),
        ([CALL], [("no_call", "")]),
        ([], [("no_call", ""), ("no_call", "")]),
        ([CALL, ADD, ADD], [("extra_call", "$")]),
        ([CALL, call("probe_add", {"a": 1, "b": 3})], [("wrong_value", "$.calls[1].input.b")]),
        ([CALL, call("probe_add", {"a": True, "b": 2})], [("wrong_value", "$.calls[1].input.a")]),
        ([CALL, call("probe_add", {"a": 1})], [("wrong_value", "$.calls[1].input.b")]),
        (
            [CALL, call("probe_add", {"a": 1, "b": 2, "c": 3})],
            [("wrong_value", "$.calls[1].input.c")],
        ),
        ([CALL, call("probe_sub", {"a": 1, "b": 2})], [("no_call", ""), ("extra_call", "$")]),
    ],
)
def test_calls_are_held_against_those_asked_for(
    model_calls: list[ToolCall], findings: list[tuple[str, str]]
) -> None:
    """In any order; missing, surplus and changed calls differ, and true is not 1."""
    assert [(str(f.kind), f.path) for f in find_wrong_values(model_calls, WANTED)] == findings


@pytest.mark.parametrize(
    ("model_calls", "trials"),
    [
        ([CALL, ADD], [True, True, True]),
        ([ADD, CALL], [True, True, True]),
        ([CALL], [True]),
        ([], []),
        ([CALL, ADD, ADD], [True, True, True]),
        ([CALL, call("probe_add", {"a": 1, "b": 3})], [True, True, False]),
        ([CALL, call("probe_add", {"a": 1, "b": 2, "c": 3})], [True, True, True]),
        ([call("probe_echo", {**ECHO, "message": "other"}), ADD], [False, True, True]),
        # Another choice of a closed set is a finding, and no trial.
        ([call("probe_echo", {**ECHO, "tag": "alpha"}), ADD], [True, True, True]),
    ],
)
def test_every_value_that_was_asked_for_is_a_trial(
    model_calls: list[ToolCall], trials: list[bool]
) -> None:
    """Of calls that arrived: a missing call has no values, a surplus one was not asked for."""
    verdicts = value_verdicts(model_calls, WANTED, (PROBE_ECHO, PROBE_ADD))

    assert {verdict.metric for verdict in verdicts} <= {Metric.VALUE_FIDELITY}
    assert [verdict.good for verdict in verdicts] == trials


def test_null_and_booleans_are_no_trials_of_values() -> None:
    """A proxy that damages texts and numbers leaves them alone."""
    wanted: dict[str, JSON] = {
        "count": 2,
        "ratio": 0.5,
        "enabled": True,
        "level": "low",
        "note": None,
    }
    sent = call("probe_settings", {**wanted, "ratio": 0.25})

    verdicts = value_verdicts([sent], [("probe_settings", wanted)], (PROBE_SETTINGS,))

    assert [verdict.good for verdict in verdicts] == [True, False]


def test_of_two_calls_of_a_tool_the_one_that_fits_is_taken_first() -> None:
    """A wrong call before the right one does not hide it."""
    wrong, right = call("probe_add", {"a": 9, "b": 9}), call("probe_add", {"a": 1, "b": 2}, "c2")

    findings = find_wrong_values([wrong, right], [("probe_add", {"a": 1, "b": 2})])

    assert [str(finding.kind) for finding in findings] == ["extra_call"]


@pytest.mark.parametrize(
    "kind", [Breakage.INVALID_JSON, Breakage.NOT_AN_OBJECT, Breakage.TRUNCATED_CALL]
)
def test_a_call_on_the_wire_that_cannot_be_read_has_the_format_of_the_wire(kind: Breakage) -> None:
    """It failed to parse, which is not the same as no call."""
    broken = BrokenCall("{", "Bad.", kind, "probe_echo", "c1", "$", "openai")
    turn = judge(broken)

    assert (turn.calls, turn.arrived) == ((), (broken,))
    assert turn.format == turn.shown_format == "openai"
    assert trials(turn)["parse_success"] == [False]


def test_a_server_that_reports_a_call_has_sent_none() -> None:
    """An error line instead of the call has neither name nor id."""
    turn = judge(BrokenCall("{", "error parsing tool call", path="$.error", format="ollama"))

    assert (turn.format, turn.arrived) == (None, ())


def test_a_leak_that_no_parser_reads_is_shown_in_an_unknown_format() -> None:
    """It is a call in the text, and no prose."""
    leak = Text(
        '<invoke_tool_now name="probe_echo">{"message": "a", "tag": "beta"}</invoke_tool_now>'
    )
    turn = judge(leak)

    assert (turn.format, turn.shown_format) == (None, "unknown")
    assert judge(Text("I would rather talk.")).shown_format is None


UNDECLARED = '{"name": "probe_echo_copy_message_alpha", "arguments": {"message": "hi'


@pytest.mark.parametrize(
    ("text", "stop"),
    [(UNDECLARED, Stop.LENGTH), (UNDECLARED + '"}}', Stop.END)],
    ids=["cut", "whole"],
)
def test_a_call_of_an_undeclared_tool_as_text_is_a_leak(text: str, stop: Stop) -> None:
    """Cut or whole: it is no answer in prose, and not one that ended before any call."""
    turn = judge(Text(text), stop=stop)

    assert [fault.kind for fault in turn.faults] == [FindingKind.LEAKED_CALL]
    assert not turn.calls
