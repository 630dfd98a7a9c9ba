from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import httpx
import pytest
from typing_extensions import override

from probes.adapters import FORMATS
from probes.messages import (
    JSON,
    ModelCall,
    Part,
    Reasoning,
    Role,
    Text,
    ToolCall,
    ToolResult,
    Turn,
)
from simulators.faults.refusals import replay_refusals
from simulators.vendors.reply_style import sign_text
from tests.simulators.fault_client import ADD, ECHO, HEADERS, FaultyVendor, question
from tests.simulators.raw_requests import error_message, meaning

SUM = "Call probe_add with a = 3 and b = 4."
AGAIN = Turn(Role.USER, (Text("Thank you. Call probe_add with a = 5 and b = 6."),))
MUST_RETURN = "The `reasoning_content` in the thinking mode must be passed back to the API."
BLOCKS_MUST = "The `content[].thinking` in the thinking mode must be passed back to the API."
REPLAY = "replay_missing"
THINK: Mapping[str, JSON] = {"thinking": {"type": "enabled", "budget_tokens": 1024}}
Change = Callable[[Part], Part | None]


def begun(bent: FaultyVendor, vendor: str, options: Mapping[str, JSON] | None = None) -> ModelCall:
    """A question, the call it led to, as it came, and its result."""
    call = question(SUM, ADD, **(options or {}))
    reply = bent.read(vendor, call)
    (made,) = reply.calls
    result = Turn(Role.TOOL, (ToolResult(made.id, "nonce-41", name=made.name),))
    return replace(call, turns=(*call.turns, reply.as_turn(), result))


def answered(bent: FaultyVendor, vendor: str, call: ModelCall) -> ModelCall:
    """The conversation with the answer to the result, and a further question."""
    reply = bent.read(vendor, call)
    assert "nonce-41" in (reply.text or "")
    return replace(call, turns=(*call.turns, reply.as_turn(), AGAIN))


def changed(call: ModelCall, change: Change) -> ModelCall:
    """The conversation with the assistant's parts changed or left out."""

    def turn(turn: Turn) -> Turn:
        if turn.role is not Role.ASSISTANT:
            return turn
        parts = [new for part in turn.parts if (new := change(part)) is not None]
        return replace(turn, parts=tuple(parts))

    return replace(call, turns=tuple(map(turn, call.turns)))


def dropped(part: Part) -> Part | None:
    return None if isinstance(part, Reasoning) else part


def saying(text: str) -> Change:
    return lambda part: replace(part, text=text) if isinstance(part, Reasoning) else part


def refused(answer: httpx.Response) -> str:
    assert answer.status_code == 400, answer.text
    return error_message(answer)


@pytest.mark.parametrize("vendor", ["openai", "vllm"])
@pytest.mark.parametrize(
    ("switch", "missing"),
    [
        (
            "wants-reasoning-same-turn",
            "Missing `reasoning_content` field in the assistant message at message index 1. For "
            "more information, please refer to "
            "https://api-docs.deepseek.com/guides/thinking_mode#tool-calls",
        ),
        ("wants-reasoning-all-turns", MUST_RETURN),
        ("refuses-blank-reasoning", MUST_RETURN),
        ("refuses-filler", MUST_RETURN),
        (
            "kimi-reasoning",
            "thinking is enabled but reasoning_content is missing in assistant tool call message "
            "at index 1",
        ),
    ],
)
def test_a_call_must_come_back_with_its_reasoning(
    vendor_url: str, vendor: str, switch: str, missing: str
) -> None:
    """As it came it is taken, in this turn and after the next question; without it is refused."""
    bent = FaultyVendor(vendor_url, switch)
    first = begun(bent, vendor)
    second = answered(bent, vendor, first)

    assert bent.read(vendor, second).calls
    answer = bent.ask(vendor, changed(first, dropped))
    assert refused(answer) == missing
    assert meaning(vendor, answer) == REPLAY


@pytest.mark.parametrize(
    ("switch", "statuses"),
    [
        ("wants-reasoning-same-turn", [200, 200, 200, 200, 200]),
        ("wants-reasoning-all-turns", [400, 400, 200, 200, 200]),
        ("refuses-blank-reasoning", [400, 400, 400, 200, 200]),
        ("refuses-filler", [400, 400, 400, 400, 400]),
        ("kimi-reasoning", [400, 200, 200, 200, 200]),
    ],
)
def test_rules_differ_in_what_they_let_pass(
    vendor_url: str, switch: str, statuses: list[int]
) -> None:
    """Reasoning of an earlier turn, of an answer without calls, and three fillers."""
    bent = FaultyVendor(vendor_url, switch)
    first = begun(bent, "openai")
    second = answered(bent, "openai", first)
    spoken = second.turns[3]
    bare = replace(spoken, parts=tuple(p for p in spoken.parts if not isinstance(p, Reasoning)))
    branches = [
        changed(second, dropped),
        replace(second, turns=(*second.turns[:3], bare, AGAIN)),
        changed(first, saying("")),
        changed(first, saying(" ")),
        changed(first, saying(".")),
    ]

    assert [bent.ask("openai", branch).status_code for branch in branches] == statuses


def test_reasoning_stands_in_the_body(vendor_url: str) -> None:
    """What must come back is first given out; a request may switch it off."""
    bent = FaultyVendor(vendor_url, "wants-reasoning-all-turns")
    thinks = bent.whole("openai", question(SUM, ADD))
    quiet = bent.whole("openai", question(SUM, ADD, reasoning_effort="none"))

    assert thinks["choices"][0]["message"]["reasoning_content"].startswith("The user wants")
    assert "reasoning_content" not in quiet["choices"][0]["message"]


def test_issued_reasoning_is_marked(vendor_url: str) -> None:
    """The mark at its end is what a filler lacks."""
    body = FaultyVendor(vendor_url, "refuses-filler").whole("openai", question(SUM, ADD))
    said, _, mark = body["choices"][0]["message"]["reasoning_content"].rpartition("\n")

    assert mark == f"[{sign_text(said)}]"


def test_thinking_blocks_must_come_back(vendor_url: str) -> None:
    """On the Messages route the rule is the same and its text another."""
    bent = FaultyVendor(vendor_url, "wants-thinking-blocks")
    first = begun(bent, "anthropic")
    second = answered(bent, "anthropic", first)

    assert bent.read("anthropic", second).calls
    for call in (first, second):
        answer = bent.ask("anthropic", changed(call, dropped))
        assert refused(answer) == BLOCKS_MUST
        assert meaning("anthropic", answer) == REPLAY


def shorter(part: Part) -> Part | None:
    if not isinstance(part, Reasoning):
        return part
    assert isinstance(part.raw, Mapping)
    return replace(part, raw={**part.raw, "thinking": "I thought."})


def test_blocks_of_the_latest_answer_cannot_be_changed(vendor_url: str) -> None:
    """As they came or left out they are taken; with other words or moved they are refused."""
    bent = FaultyVendor(vendor_url, "blocks-unmodified")
    call = begun(bent, "anthropic", THINK)
    asked, spoken, result = call.turns
    moved = replace(call, turns=(asked, replace(spoken, parts=spoken.parts[::-1]), result))

    assert bent.ask("anthropic", call).status_code == 200
    assert bent.ask("anthropic", changed(call, dropped)).status_code == 200
    for branch, place in ((changed(call, shorter), 0), (moved, 1)):
        answer = bent.ask("anthropic", branch)
        assert refused(answer) == (
            f"messages.1.content.{place}: `thinking` or `redacted_thinking` blocks in the latest "
            "assistant message cannot be modified. These blocks must remain as they were in the "
            "original response."
        )
        assert meaning("anthropic", answer) == "replay_signature_bad"


def test_a_block_belongs_to_what_stood_before_it(vendor_url: str) -> None:
    """Another tool or system text voids it; without it all is well."""
    bent = FaultyVendor(vendor_url, "prefix-bound")
    call = begun(bent, "anthropic", THINK)
    system = Turn(Role.SYSTEM, (Text("Be brief."),))
    more_tools = replace(call, tools=(ADD, ECHO))
    edited = replace(call, turns=(system, *call.turns))

    assert bent.ask("anthropic", call).status_code == 200
    assert bent.ask("anthropic", changed(more_tools, dropped)).status_code == 200
    for branch in (more_tools, edited):
        answer = bent.ask("anthropic", branch)
        assert refused(answer) == (
            "messages.1.content.0: Invalid `signature` in `thinking` block. The block is bound to "
            "a different conversation. Remove the block, or set "
            '`thinking.block_binding.prefix_mismatch_behavior` to "drop_block".'
        )
        assert meaning("anthropic", answer) == "replay_prefix_bound"


def test_a_bound_block_stays_bound_in_later_turns(vendor_url: str) -> None:
    """The conversation may grow; only what stands before a block must stay."""
    bent = FaultyVendor(vendor_url, "prefix-bound")
    call = answered(bent, "anthropic", begun(bent, "anthropic", THINK))

    assert bent.read("anthropic", call).calls


def test_a_client_may_let_bound_blocks_be_dropped(vendor_url: str) -> None:
    """With the beta's header and the field that the error names."""
    bent = FaultyVendor(vendor_url, "prefix-bound")
    call = replace(begun(bent, "anthropic", THINK), model="sim-steady", tools=(ADD, ECHO))
    binding: JSON = {"prefix_mismatch_behavior": "drop_block"}
    thinking: JSON = {"type": "adaptive", "block_binding": binding}
    body = FORMATS["anthropic"].write_request(replace(call, options={"thinking": thinking}))
    beta = {"anthropic-beta": "thinking-binding-controls-2026-08-01"}
    address = f"{vendor_url}/with/prefix-bound/anthropic/v1/messages"
    answer = httpx.post(address, json=body, headers={**HEADERS, **beta}, trust_env=False)

    assert answer.status_code == 200, answer.text


def unsigned(part: Part) -> Part | None:
    return replace(part, extra={}) if isinstance(part, ToolCall) else part


def misread(part: Part) -> Part | None:
    if not isinstance(part, ToolCall):
        return part
    return replace(part, extra={"gemini": {"thoughtSignature": "AAAA"}})


def test_signatures_must_come_back(vendor_url: str) -> None:
    """A model that did not ask for them gives them out and wants them, its own only."""
    plain, bent = GeminiBent(vendor_url, "one-call,p=0"), GeminiBent(vendor_url, "wants-signatures")
    call = begun(plain, "gemini")
    assert plain.ask("gemini", call).status_code == 200

    answer = bent.ask("gemini", call)
    assert refused(answer) == (
        "Function call is missing a thought_signature in functionCall parts. This is required for "
        "tools to work correctly, and missing thought_signature may lead to degraded model "
        "performance. Additional data, function call `default_api:probe_add`, position 2."
    )
    assert meaning("gemini", answer) == "replay_signature_missing"
    signed = begun(bent, "gemini")
    assert bent.ask("gemini", signed).status_code == 200
    assert meaning("gemini", bent.ask("gemini", changed(signed, unsigned))) == (
        "replay_signature_missing"
    )
    wrong = bent.ask("gemini", changed(signed, misread))
    assert (refused(wrong), meaning("gemini", wrong)) == (
        "Invalid thought signature.",
        "replay_signature_bad",
    )


class GeminiBent(FaultyVendor):
    """Asks the model that signs nothing by itself."""

    @override
    def ask(self, vendor: str, call: ModelCall, *, stream: bool = False) -> httpx.Response:
        body = FORMATS["gemini"].write_request(call)
        path = "/gemini/v1beta/models/sim-gemini-2.5:generateContent"
        address = f"{self.url}/with/{self.switches}{path}"
        return httpx.post(address, json=body, headers=HEADERS, trust_env=False, timeout=30)


def test_reasoning_items_and_calls_come_back_together(vendor_url: str) -> None:
    """Neither may stand alone; both together are taken in this turn and the next."""
    vendor, bent = "openai_responses", FaultyVendor(vendor_url, "wants-items")
    first = begun(bent, vendor)
    items = bent.whole(vendor, question(SUM, ADD))["output"]
    assert [item["type"] for item in items] == ["reasoning", "function_call"]

    assert bent.read(vendor, answered(bent, vendor, first)).calls
    answer = bent.ask(vendor, changed(first, dropped))
    text = refused(answer)
    assert text.startswith("Item 'fc_")
    assert "' of type 'function_call' was provided without its required 'reasoning' item: " in text
    assert meaning(vendor, answer) == "replay_item"
    alone = changed(replace(first, turns=(*first.turns[:2], AGAIN)), _only_thought)
    answer = bent.ask(vendor, alone)
    assert refused(answer).endswith("was provided without its required following item.")
    assert meaning(vendor, answer) == "replay_item"


def _only_thought(part: Part) -> Part | None:
    return part if isinstance(part, Reasoning) else None


@pytest.mark.parametrize(
    ("vendor", "text"),
    [
        ("openai", "Unknown parameter: 'messages[1].reasoning_content'."),
        ("vllm", "Unknown parameter: 'messages[1].reasoning'."),
        ("anthropic", "messages.1.content.0.thinking: Extra inputs are not permitted"),
    ],
)
def test_a_history_with_reasoning_is_refused(vendor_url: str, vendor: str, text: str) -> None:
    """The vendor thinks, and takes none of it back; without it the history is taken."""
    bent = FaultyVendor(vendor_url, "rejects-reasoning")
    call = begun(bent, vendor)

    answer = bent.ask(vendor, call)
    assert refused(answer) == text
    assert meaning(vendor, answer) == "param_unknown"
    assert bent.ask(vendor, changed(call, dropped)).status_code == 200


@pytest.mark.parametrize(
    ("vendor", "text", "kind"),
    [
        ("openai", MUST_RETURN, REPLAY),
        ("anthropic", BLOCKS_MUST, REPLAY),
        ("openai_responses", "required 'reasoning' item: 'rs_", "replay_item"),
        ("gemini", "Corrupted thought signature.", "replay_signature_bad"),
    ],
)
def test_even_a_right_continuation_is_refused(
    vendor_url: str, vendor: str, text: str, kind: str
) -> None:
    """The reasoning comes back as it came, and the vendor says that it is missing or broken."""
    bent = FaultyVendor(vendor_url, "refuses-replay")
    call = begun(bent, vendor)
    assert any(isinstance(part, Reasoning) for part in call.turns[1].parts)

    answer = bent.ask(vendor, call)
    assert text in refused(answer)
    assert meaning(vendor, answer) == kind


TRUTHS = [
    ("wants-reasoning-same-turn", "vllm", "required_same_turn"),
    ("wants-reasoning-all-turns", "openai", "required_all_turns"),
    ("refuses-blank-reasoning", "openai", "required_all_turns"),
    ("refuses-filler", "openai", "required_all_turns"),
    ("kimi-reasoning", "openai", "required_all_turns"),
    ("wants-thinking-blocks", "anthropic", "required_all_turns"),
    ("blocks-unmodified", "anthropic", "none"),
    ("prefix-bound", "anthropic", "none"),
    ("wants-signatures", "gemini", "required_same_turn"),
    ("wants-items", "responses", "required_all_turns"),
    ("rejects-reasoning", "openai", "rejected"),
    ("refuses-replay", "openai", "unknown"),
]


@pytest.mark.parametrize(("switch", "vendor", "replay"), TRUTHS)
def test_the_truth_tells_the_rule(vendor_url: str, switch: str, vendor: str, replay: str) -> None:
    """A duty is a failure only where a client that goes by the provider does not meet it."""
    address = f"{vendor_url}/with/{switch}/_truth/{vendor}"
    truth: Any = httpx.get(address, trust_env=False).json()

    assert truth["capabilities"]["reasoning_replay"] == replay
    # Of the provider openai nobody expects reasoning, so nobody sends it back.
    unmet = vendor in ("openai", "vllm") and replay.startswith("required")
    bad = 1 if switch == "refuses-replay" or unmet else 0
    assert truth["metrics"]["reasoning_replay_error"]["rate"] == bad


def test_every_replay_rule_is_shown_here() -> None:
    """A rule that is added is also tried."""
    assert {switch for switch, *_ in TRUTHS} == {fault.name for fault in replay_refusals.FAULTS}
