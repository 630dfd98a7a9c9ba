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
from tests.simulators.raw_requests import classify_refusal, error_message

SUM = "Call probe_add with a = 3 and b = 4."
AGAIN = Turn(Role.USER, (Text("Thank you. Call probe_add with a = 5 and b = 6."),))
MUST_RETURN = "The `reasoning_content` in the thinking mode must be passed back to the API."
BLOCKS_MUST = "The `content[].thinking` in the thinking mode must be passed back to the API."
REPLAY = "replay_missing"
THINK: Mapping[str, JSON] = {"thinking": {"type": "enabled", "budget_tokens": 1024}}
Change = Callable[[Part], Part | None]


def start_conversation(
    faulty: FaultyVendor, vendor: str, options: Mapping[str, JSON] | None = None
) -> ModelCall:
    """A question, the reply with its call unchanged, and the result."""
    call = question(SUM, ADD, **(options or {}))
    reply = faulty.read_reply(vendor, call)
    (made,) = reply.calls
    result = Turn(Role.TOOL, (ToolResult(made.id, "nonce-41", name=made.name),))
    return replace(call, turns=(*call.turns, reply.as_turn(), result))


def continue_conversation(faulty: FaultyVendor, vendor: str, call: ModelCall) -> ModelCall:
    """The conversation with the answer to the result, and another question."""
    reply = faulty.read_reply(vendor, call)
    assert "nonce-41" in (reply.text or "")
    return replace(call, turns=(*call.turns, reply.as_turn(), AGAIN))


def change_parts(call: ModelCall, change: Change) -> ModelCall:
    """The conversation with the assistant's parts changed or removed."""

    def turn(turn: Turn) -> Turn:
        if turn.role is not Role.ASSISTANT:
            return turn
        parts = [new for part in turn.parts if (new := change(part)) is not None]
        return replace(turn, parts=tuple(parts))

    return replace(call, turns=tuple(map(turn, call.turns)))


def drop_reasoning(part: Part) -> Part | None:
    return None if isinstance(part, Reasoning) else part


def replace_reasoning(text: str) -> Change:
    return lambda part: replace(part, text=text) if isinstance(part, Reasoning) else part


def read_refusal_text(answer: httpx.Response) -> str:
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
    """A call with its reasoning is accepted in every turn, and refused without it."""
    faulty = FaultyVendor(vendor_url, switch)
    first = start_conversation(faulty, vendor)
    second = continue_conversation(faulty, vendor, first)

    assert faulty.read_reply(vendor, second).calls
    answer = faulty.ask(vendor, change_parts(first, drop_reasoning))
    assert read_refusal_text(answer) == missing
    assert classify_refusal(vendor, answer) == REPLAY


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
def test_replay_rules_accept_different_histories(
    vendor_url: str, switch: str, statuses: list[int]
) -> None:
    """The rules differ on earlier turns, answers without calls, and three fillers."""
    faulty = FaultyVendor(vendor_url, switch)
    first = start_conversation(faulty, "openai")
    second = continue_conversation(faulty, "openai", first)
    answer_turn = second.turns[3]
    bare = replace(
        answer_turn, parts=tuple(p for p in answer_turn.parts if not isinstance(p, Reasoning))
    )
    branches = [
        change_parts(second, drop_reasoning),
        replace(second, turns=(*second.turns[:3], bare, AGAIN)),
        change_parts(first, replace_reasoning("")),
        change_parts(first, replace_reasoning(" ")),
        change_parts(first, replace_reasoning(".")),
    ]

    assert [faulty.ask("openai", branch).status_code for branch in branches] == statuses


def test_required_reasoning_is_in_the_body(vendor_url: str) -> None:
    """The vendor sends the reasoning that it requires; a request can switch it off."""
    faulty = FaultyVendor(vendor_url, "wants-reasoning-all-turns")
    thinks = faulty.read_body("openai", question(SUM, ADD))
    quiet = faulty.read_body("openai", question(SUM, ADD, reasoning_effort="none"))

    assert thinks["choices"][0]["message"]["reasoning_content"].startswith("The user wants")
    assert "reasoning_content" not in quiet["choices"][0]["message"]


def test_issued_reasoning_is_marked(vendor_url: str) -> None:
    """Reasoning from the vendor ends with a mark that a filler lacks."""
    body = FaultyVendor(vendor_url, "refuses-filler").read_body("openai", question(SUM, ADD))
    text, _, mark = body["choices"][0]["message"]["reasoning_content"].rpartition("\n")

    assert mark == f"[{sign_text(text)}]"


def test_thinking_blocks_must_come_back(vendor_url: str) -> None:
    """The Messages route has the same rule with another message."""
    faulty = FaultyVendor(vendor_url, "wants-thinking-blocks")
    first = start_conversation(faulty, "anthropic")
    second = continue_conversation(faulty, "anthropic", first)

    assert faulty.read_reply("anthropic", second).calls
    for call in (first, second):
        answer = faulty.ask("anthropic", change_parts(call, drop_reasoning))
        assert read_refusal_text(answer) == BLOCKS_MUST
        assert classify_refusal("anthropic", answer) == REPLAY


def shorten_thinking(part: Part) -> Part | None:
    if not isinstance(part, Reasoning):
        return part
    assert isinstance(part.raw, Mapping)
    return replace(part, raw={**part.raw, "thinking": "I thought."})


def test_blocks_of_the_latest_answer_cannot_be_changed(vendor_url: str) -> None:
    """Unchanged or removed blocks are accepted; edited or moved ones are refused."""
    faulty = FaultyVendor(vendor_url, "blocks-unmodified")
    call = start_conversation(faulty, "anthropic", THINK)
    user_turn, answer_turn, result = call.turns
    moved = replace(
        call, turns=(user_turn, replace(answer_turn, parts=answer_turn.parts[::-1]), result)
    )

    assert faulty.ask("anthropic", call).status_code == 200
    assert faulty.ask("anthropic", change_parts(call, drop_reasoning)).status_code == 200
    for branch, place in ((change_parts(call, shorten_thinking), 0), (moved, 1)):
        answer = faulty.ask("anthropic", branch)
        assert read_refusal_text(answer) == (
            f"messages.1.content.{place}: `thinking` or `redacted_thinking` blocks in the latest "
            "assistant message cannot be modified. These blocks must remain as they were in the "
            "original response."
        )
        assert classify_refusal("anthropic", answer) == "replay_signature_bad"


def test_a_block_is_bound_to_the_history_before_it(vendor_url: str) -> None:
    """Another tool or system text invalidates a block; without the block it is accepted."""
    faulty = FaultyVendor(vendor_url, "prefix-bound")
    call = start_conversation(faulty, "anthropic", THINK)
    system = Turn(Role.SYSTEM, (Text("Be brief."),))
    more_tools = replace(call, tools=(ADD, ECHO))
    edited = replace(call, turns=(system, *call.turns))

    assert faulty.ask("anthropic", call).status_code == 200
    assert faulty.ask("anthropic", change_parts(more_tools, drop_reasoning)).status_code == 200
    for branch in (more_tools, edited):
        answer = faulty.ask("anthropic", branch)
        assert read_refusal_text(answer) == (
            "messages.1.content.0: Invalid `signature` in `thinking` block. The block is bound to "
            "a different conversation. Remove the block, or set "
            '`thinking.block_binding.prefix_mismatch_behavior` to "drop_block".'
        )
        assert classify_refusal("anthropic", answer) == "replay_prefix_bound"


def test_a_bound_block_stays_bound_in_later_turns(vendor_url: str) -> None:
    """The conversation can grow; only the part before a block must not change."""
    faulty = FaultyVendor(vendor_url, "prefix-bound")
    call = continue_conversation(
        faulty, "anthropic", start_conversation(faulty, "anthropic", THINK)
    )

    assert faulty.read_reply("anthropic", call).calls


def test_a_client_may_let_bound_blocks_be_dropped(vendor_url: str) -> None:
    """The beta header and the field from the error message let blocks be dropped."""
    faulty = FaultyVendor(vendor_url, "prefix-bound")
    call = replace(
        start_conversation(faulty, "anthropic", THINK), model="sim-steady", tools=(ADD, ECHO)
    )
    binding: JSON = {"prefix_mismatch_behavior": "drop_block"}
    thinking: JSON = {"type": "adaptive", "block_binding": binding}
    body = FORMATS["anthropic"].write_request(replace(call, options={"thinking": thinking}))
    beta = {"anthropic-beta": "thinking-binding-controls-2026-08-01"}
    address = f"{vendor_url}/with/prefix-bound/anthropic/v1/messages"
    answer = httpx.post(address, json=body, headers={**HEADERS, **beta}, trust_env=False)

    assert answer.status_code == 200, answer.text


def drop_signature(part: Part) -> Part | None:
    return replace(part, extra={}) if isinstance(part, ToolCall) else part


def replace_signature(part: Part) -> Part | None:
    if not isinstance(part, ToolCall):
        return part
    return replace(part, extra={"gemini": {"thoughtSignature": "AAAA"}})


def test_signatures_must_come_back(vendor_url: str) -> None:
    """The fault makes a model issue signatures and require them, accepting only its own."""
    plain, faulty = (
        FaultyGemini(vendor_url, "one-call,p=0"),
        FaultyGemini(vendor_url, "wants-signatures"),
    )
    call = start_conversation(plain, "gemini")
    assert plain.ask("gemini", call).status_code == 200

    answer = faulty.ask("gemini", call)
    assert read_refusal_text(answer) == (
        "Function call is missing a thought_signature in functionCall parts. This is required for "
        "tools to work correctly, and missing thought_signature may lead to degraded model "
        "performance. Additional data, function call `default_api:probe_add`, position 2."
    )
    assert classify_refusal("gemini", answer) == "replay_signature_missing"
    signed = start_conversation(faulty, "gemini")
    assert faulty.ask("gemini", signed).status_code == 200
    assert classify_refusal(
        "gemini", faulty.ask("gemini", change_parts(signed, drop_signature))
    ) == ("replay_signature_missing")
    wrong = faulty.ask("gemini", change_parts(signed, replace_signature))
    assert (read_refusal_text(wrong), classify_refusal("gemini", wrong)) == (
        "Invalid thought signature.",
        "replay_signature_bad",
    )


class FaultyGemini(FaultyVendor):
    """Asks the model that signs nothing by default."""

    @override
    def ask(self, vendor: str, call: ModelCall, *, stream: bool = False) -> httpx.Response:
        body = FORMATS["gemini"].write_request(call)
        path = "/gemini/v1beta/models/sim-gemini-2.5:generateContent"
        address = f"{self.url}/with/{self.switches}{path}"
        return httpx.post(address, json=body, headers=HEADERS, trust_env=False, timeout=30)


def test_reasoning_items_and_calls_come_back_together(vendor_url: str) -> None:
    """Reasoning items and calls are accepted only together, in this turn and the next."""
    vendor, faulty = "openai_responses", FaultyVendor(vendor_url, "wants-items")
    first = start_conversation(faulty, vendor)
    items = faulty.read_body(vendor, question(SUM, ADD))["output"]
    assert [item["type"] for item in items] == ["reasoning", "function_call"]

    assert faulty.read_reply(vendor, continue_conversation(faulty, vendor, first)).calls
    answer = faulty.ask(vendor, change_parts(first, drop_reasoning))
    text = read_refusal_text(answer)
    assert text.startswith("Item 'fc_")
    assert "' of type 'function_call' was provided without its required 'reasoning' item: " in text
    assert classify_refusal(vendor, answer) == "replay_item"
    alone = change_parts(replace(first, turns=(*first.turns[:2], AGAIN)), keep_reasoning_only)
    answer = faulty.ask(vendor, alone)
    assert read_refusal_text(answer).endswith("was provided without its required following item.")
    assert classify_refusal(vendor, answer) == "replay_item"


def keep_reasoning_only(part: Part) -> Part | None:
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
    """The vendor sends reasoning, but accepts a history only without it."""
    faulty = FaultyVendor(vendor_url, "rejects-reasoning")
    call = start_conversation(faulty, vendor)

    answer = faulty.ask(vendor, call)
    assert read_refusal_text(answer) == text
    assert classify_refusal(vendor, answer) == "param_unknown"
    assert faulty.ask(vendor, change_parts(call, drop_reasoning)).status_code == 200


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
    """The vendor reports unchanged reasoning as missing or corrupted."""
    faulty = FaultyVendor(vendor_url, "refuses-replay")
    call = start_conversation(faulty, vendor)
    assert any(isinstance(part, Reasoning) for part in call.turns[1].parts)

    answer = faulty.ask(vendor, call)
    assert text in read_refusal_text(answer)
    assert classify_refusal(vendor, answer) == kind


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
def test_the_truth_names_the_replay_rule(
    vendor_url: str, switch: str, vendor: str, replay: str
) -> None:
    """A rule that can be met is no failure: its first refusal teaches it."""
    address = f"{vendor_url}/with/{switch}/_truth/{vendor}"
    truth: Any = httpx.get(address, trust_env=False).json()

    assert truth["capabilities"]["reasoning_replay"] == replay
    # How many histories are trimmed before a bound block depends on the client.
    bad = {"refuses-replay": 1, "prefix-bound": None}.get(switch, 0)
    assert truth["metrics"]["reasoning_replay_error"]["rate"] == bad


def test_every_replay_rule_is_covered() -> None:
    """Every replay fault is covered here."""
    assert {switch for switch, *_ in TRUTHS} == {fault.name for fault in replay_refusals.FAULTS}
