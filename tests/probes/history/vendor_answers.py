"""The answers of each vendor in the conversation of `vendors`, with its own ids and reasoning."""

from __future__ import annotations

from collections.abc import Mapping

from probes.messages import JSON
from tests.probes.history.vendors import Vendor, chat_answers, reasoning_fields

FOUR = ("Both.\n", "", "Tell.", "Oslo, then.")
NONE: tuple[Mapping[str, JSON], ...] = ({}, {}, {}, {})

OPENAI_IDS = ("call_A1b2C3", "call_D4e5F6", "call_G7h8I9", "call_J1k2L3")
DEEPSEEK_IDS = ("call_00_9nLf", "call_01_7kPq", "call_00_2xYz", "call_00_5tRs")
MINIMAX_IDS = tuple(f"call_function_a8x2_{number}" for number in (1, 2, 3, 4))
KIMI_IDS = (
    "functions.weather:0",
    "functions.weather:1",
    "functions.clock:2",
    "functions.weather:3",
)
MISTRAL_IDS = ("D681PevKs", "vvMUn8ZzO", "k3NbQ0aaT", "Zp9xW1c2v")
QWEN_IDS = tuple(f"call_{number:02}b7f0c6e2a94d51" for number in (1, 2, 3, 4))


def details(text: str) -> dict[str, JSON]:
    entry: JSON = {
        "type": "reasoning.text",
        "id": "reasoning-text-1",
        "format": "MiniMax-response-v1",
        "index": 0,
        "text": text,
    }
    return {"reasoning_details": [entry]}


MINIMAX_THOUGHTS = [details(text) for text in FOUR]

OPENAI = Vendor("openai", "openai", chat_answers(OPENAI_IDS, NONE))
DEEPSEEK = Vendor("deepseek", "openai", chat_answers(DEEPSEEK_IDS, reasoning_fields(*FOUR)))
DEEPSEEK_V32 = Vendor("deepseek_v32", "openai", DEEPSEEK.answers)
MINIMAX = Vendor("minimax", "openai", chat_answers(MINIMAX_IDS, MINIMAX_THOUGHTS))
GLM = Vendor("glm", "openai", chat_answers(QWEN_IDS, reasoning_fields(*FOUR)))
GLM_PRESERVED = Vendor("glm_preserved", "openai", GLM.answers)
QWEN = Vendor("qwen", "openai", chat_answers(QWEN_IDS, reasoning_fields(*FOUR)))
QWEN_PRESERVED = Vendor("qwen_preserved", "openai", QWEN.answers)
KIMI = Vendor("kimi", "openai", chat_answers(KIMI_IDS, reasoning_fields(*FOUR)))
KIMI_K3 = Vendor("kimi_k3", "openai", KIMI.answers)
MISTRAL = Vendor("mistral", "openai", chat_answers(MISTRAL_IDS, NONE))
PLAIN = Vendor("plain", "openai", chat_answers(QWEN_IDS, reasoning_fields(*FOUR, name="reasoning")))


def _message(*blocks: JSON) -> JSON:
    return {
        "id": "msg_01",
        "type": "message",
        "role": "assistant",
        "model": "m-2026",
        "content": list(blocks),
        "stop_reason": "tool_use",
        "stop_sequence": None,
        "usage": {"input_tokens": 1, "output_tokens": 1},
    }


def use(id_: str, name: str, input_: Mapping[str, JSON]) -> dict[str, JSON]:
    return {"type": "tool_use", "id": id_, "name": name, "input": input_}


def thinking(text: str, signature: str) -> dict[str, JSON]:
    return {"type": "thinking", "thinking": text, "signature": signature}


ANTHROPIC_IDS = ("toolu_01A", "toolu_01B", "toolu_01C", "toolu_01D")
REDACTED: dict[str, JSON] = {"type": "redacted_thinking", "data": "EmwKAhgB"}
BLOCKS: tuple[tuple[dict[str, JSON], ...], ...] = (
    (
        thinking("Both.\n", "Eq1"),
        REDACTED,
        {"type": "text", "text": "I look."},
        use("toolu_01A", "weather", {"city": "Pâris"}),
        use("toolu_01B", "weather", {"city": "Rome"}),
    ),
    # An omitted thought: no text, but a signature.
    (thinking("", "Eq2"), use("toolu_01C", "clock", {})),
    (thinking("Tell.", "Eq3"), {"type": "text", "text": "18 at noon."}),
    (thinking("Oslo, then.", "Eq4"), use("toolu_01D", "weather", {"city": "Oslo"})),
)
ANTHROPIC = Vendor("anthropic", "anthropic", tuple(_message(*blocks) for blocks in BLOCKS))
ANTHROPIC_BOUND = Vendor("anthropic_bound", "anthropic", ANTHROPIC.answers)
MINIMAX_ANTHROPIC = Vendor("minimax_anthropic", "anthropic", ANTHROPIC.answers)


def _response(*items: JSON) -> JSON:
    return {
        "id": "resp_1",
        "object": "response",
        "created_at": 1,
        "status": "completed",
        "model": "m-2026",
        "output": list(items),
        "usage": {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2},
    }


def reasoning_item(number: int) -> dict[str, JSON]:
    return {
        "type": "reasoning",
        "id": f"rs_{number}",
        "summary": [],
        "encrypted_content": f"gAAA{number}",
    }


def call_item(number: int, call_id: str, name: str, arguments: str) -> dict[str, JSON]:
    return {
        "type": "function_call",
        "id": f"fc_{number}",
        "call_id": call_id,
        "name": name,
        "arguments": arguments,
        "status": "completed",
    }


def message_item(number: int, text: str) -> dict[str, JSON]:
    return {
        "type": "message",
        "id": f"msg_{number}",
        "role": "assistant",
        "status": "completed",
        "content": [{"type": "output_text", "text": text, "annotations": []}],
    }


RESPONSES = Vendor(
    "openai_responses",
    "openai_responses",
    (
        _response(
            reasoning_item(1),
            message_item(1, "I look."),
            call_item(1, OPENAI_IDS[0], "weather", '{"city": "Pâris"}'),
            call_item(2, OPENAI_IDS[1], "weather", '{"city": "Rome"}'),
        ),
        _response(reasoning_item(2), call_item(3, OPENAI_IDS[2], "clock", "")),
        _response(reasoning_item(3), message_item(2, "18 at noon.")),
        _response(reasoning_item(4), call_item(4, OPENAI_IDS[3], "weather", '{"city": "Oslo"}')),
    ),
)


def _candidate(*parts: JSON) -> JSON:
    return {
        "candidates": [
            {
                "content": {"role": "model", "parts": list(parts)},
                "finishReason": "STOP",
                "index": 0,
            }
        ],
        "modelVersion": "m-2026",
        "responseId": "r1",
    }


def function_call(
    name: str, args: Mapping[str, JSON], id_: str = "", signature: str = ""
) -> dict[str, JSON]:
    call: dict[str, JSON] = {"name": name, "args": args}
    if id_:
        call["id"] = id_
    part: dict[str, JSON] = {"functionCall": call}
    return part | ({"thoughtSignature": signature} if signature else {})


THOUGHT: dict[str, JSON] = {"text": "Both.\n", "thought": True}
GEMINI_IDS = ("fc-8a1", "fc-8a2", "fc-8a3", "fc-8a4")


def gemini_parts(ids: tuple[str, ...], signatures: tuple[str, ...]) -> list[list[JSON]]:
    """The parts of the four answers; only the first call of a step is signed."""
    return [
        [
            THOUGHT,
            {"text": "I look."},
            function_call("weather", {"city": "Pâris"}, ids[0], signatures[0]),
            function_call("weather", {"city": "Rome"}, ids[1]),
        ],
        [function_call("clock", {}, ids[2], signatures[1])],
        [{"text": "18 at noon.", "thoughtSignature": signatures[2]}],
        [function_call("weather", {"city": "Oslo"}, ids[3], signatures[3])],
    ]


SIGNATURES = ("CsA1", "CsA2", "CsA3", "CsA4")
GEMINI_PARTS = gemini_parts(GEMINI_IDS, SIGNATURES)
GEMINI = Vendor("gemini", "gemini", tuple(_candidate(*parts) for parts in GEMINI_PARTS))


def _line(content: str, thinking_: str, *calls: JSON) -> JSON:
    message: dict[str, JSON] = {"role": "assistant", "content": content, "thinking": thinking_}
    if calls:
        message["tool_calls"] = list(calls)
    return {
        "model": "m-2026",
        "created_at": "2026-11-15T00:00:00Z",
        "message": message,
        "done": True,
        "done_reason": "stop",
    }


def local_call(name: str, arguments: Mapping[str, JSON], id_: str = "") -> dict[str, JSON]:
    call: dict[str, JSON] = {"function": {"name": name, "arguments": arguments}}
    return {"id": id_, **call} if id_ else call


OLLAMA_IDS = ("call_ab12cd34", "call_ef56gh78", "call_ij90kl12", "call_mn34op56")


def _ollama(ids: tuple[str, ...]) -> Vendor:
    return Vendor(
        "ollama",
        "ollama",
        (
            _line(
                "I look.",
                "Both.\n",
                local_call("weather", {"city": "Pâris"}, ids[0]),
                local_call("weather", {"city": "Rome"}, ids[1]),
            ),
            _line("", "", local_call("clock", {}, ids[2])),
            _line("18 at noon.", "Tell."),
            _line("", "Oslo, then.", local_call("weather", {"city": "Oslo"}, ids[3])),
        ),
    )


OLLAMA = _ollama(OLLAMA_IDS)
OLLAMA_OLD = _ollama(("", "", "", ""))

GEMINI_OLD = Vendor(
    "gemini",
    "gemini",
    (
        _candidate(
            function_call("weather", {"city": "Pâris"}), function_call("weather", {"city": "Rome"})
        ),
        _candidate(function_call("clock", {})),
        _candidate({"text": "18 at noon."}),
        _candidate(function_call("weather", {"city": "Oslo"})),
    ),
)

EVERYONE = (
    ANTHROPIC, ANTHROPIC_BOUND, DEEPSEEK, DEEPSEEK_V32, GEMINI, GLM, GLM_PRESERVED, KIMI, KIMI_K3,
    MINIMAX, MINIMAX_ANTHROPIC, MISTRAL, OLLAMA, OPENAI, PLAIN, QWEN, QWEN_PRESERVED, RESPONSES,
)  # fmt: skip
