"""Leaks with damaged markup, in another place, or in addition to the call."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace

from typing_extensions import override

from probes.messages import Reply, Text, ToolCall
from probes.outcomes import Metric
from simulators.faults.effects import NOTHING
from simulators.faults.fault import Effect, Fault
from simulators.faults.streams.anthropic_streams import FORMAT, accept_unsigned
from simulators.faults.text.json_writers import as_json, harmony, hermes
from simulators.faults.text.leak import keep_only_reasoning, leak_fault, without_calls
from simulators.faults.text.tag_writers import dsml, dsml_invokes, qwen_xml
from simulators.vendors.hooks import FaultHooks
from simulators.vendors.spec import Spec, VendorRequest


class ReasoningLeak(FaultHooks):
    """Sends the calls at the end of the reasoning, and nothing else."""

    @override
    def spec(self, spec: Spec) -> Spec:
        # The reasoning of a model that does not think comes without a signature.
        return accept_unsigned(spec) if spec.format == FORMAT else spec

    @override
    def reply(self, reply: Reply, request: VendorRequest, rng: random.Random) -> Reply:
        return keep_only_reasoning(reply, f"\n{qwen_xml(reply.calls)}") if reply.calls else reply


class LeakBesideCall(FaultHooks):
    """Sends the calls both on the wire and in the content."""

    @override
    def reply(self, reply: Reply, request: VendorRequest, rng: random.Random) -> Reply:
        if not reply.calls:
            return reply
        text = Text(hermes(reply.calls))
        return replace(reply, parts=(*without_calls(reply.parts), text, *reply.calls))


def _dsml_without_block(calls: Sequence[ToolCall]) -> str:
    return f"\n\n{dsml_invokes(calls)}"


def _dsml_old_block(calls: Sequence[ToolCall]) -> str:
    return dsml(calls).replace("DSML｜tool_calls>", "DSML｜function_calls>")


def _dsml_unterminated(calls: Sequence[ToolCall]) -> str:
    head, _, _ = dsml(calls).rpartition("\n</｜DSML｜tool_calls>")
    return head.removesuffix("</｜DSML｜invoke>").rstrip("\n")


def _harmony_stripped(calls: Sequence[ToolCall]) -> str:
    return "".join(
        f"assistantcommentary to=functions.{call.name} json{as_json(call.input)}" for call in calls
    )


def _harmony_without_call_token(calls: Sequence[ToolCall]) -> str:
    return harmony(calls).replace("<|call|>", "")


def _qwen_doubled_close(calls: Sequence[ToolCall]) -> str:
    return qwen_xml(calls).replace("\n</parameter>\n", "\n</parameter>\n</parameter>\n")


def _text_leaks() -> tuple[Fault, ...]:
    return (
        leak_fault(
            "leak-dsml-bare",
            "Z40",
            "DSML calls in the content without the block around them",
            "dsml",
            _dsml_without_block,
        ),
        leak_fault(
            "leak-dsml-block",
            "Z40",
            "DSML calls in the content in the block of the version before, function_calls",
            "dsml",
            _dsml_old_block,
        ),
        leak_fault(
            "leak-unterminated",
            "Z40",
            "DSML calls in the content; the last call and the block are not closed",
            "dsml",
            _dsml_unterminated,
            cuts_last=True,
        ),
        leak_fault(
            "leak-harmony-stripped",
            "Z47",
            "harmony calls in the content without the special tokens, only their words are left",
            "harmony",
            _harmony_stripped,
        ),
        leak_fault(
            "leak-harmony-no-call",
            "Z48",
            "harmony calls in the content without <|call|>, which was taken for a stop token",
            "harmony",
            _harmony_without_call_token,
        ),
        leak_fault(
            "leak-doubled-close",
            "Z29",
            "Qwen's XML in the content, every </parameter> twice",
            "qwen_xml",
            _qwen_doubled_close,
        ),
    )


FAULTS = (
    *_text_leaks(),
    Fault(
        "leak-in-reasoning",
        "Z25, Z34",
        "calls stand in the reasoning in Qwen's XML, and there is neither content nor a call",
        lambda value: ReasoningLeak(),
        effect=Effect(
            {Metric.PARSE_SUCCESS: 1, Metric.LEAK: 1, Metric.REASONING_ONLY: 1},
            {"tool_call_format": "xml", "parser": "qwen_xml"},
            shows_reasoning=True,
            in_text=NOTHING,
        ),
    ),
    Fault(
        "leak-and-call",
        "",
        "calls stand on the wire and, in the hermes format, in the content as well",
        lambda value: LeakBesideCall(),
        effect=Effect({Metric.LEAK: 1}, in_text=NOTHING),
    ),
)
