"""Bodies of the Gemini format, fixed and generated."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from tests.probes.adapters.wire_bodies import (
    counts,
    fields,
    ids,
    names,
    objects,
    schemas,
    short_texts,
)

CALL: dict[str, Any] = {"functionCall": {"name": "f", "args": {"a": 1}, "id": "x1"}}


def answer(*parts: Any, finish: Any = "STOP", **over: Any) -> dict[str, Any]:
    candidate = {"content": {"role": "model", "parts": list(parts)}, "index": 0}
    if finish is not None:
        candidate["finishReason"] = finish
    return {
        "candidates": [candidate],
        "usageMetadata": {"promptTokenCount": 9, "candidatesTokenCount": 7},
        "modelVersion": "gemini-x",
        "responseId": "r1",
        **over,
    }


signed = {"thoughtSignature": st.just("U0lH")}
# Plain texts may be joined to their neighbours; a part with a signature stays separate.
text_parts = fields({"text": short_texts} | signed)
thought_parts = fields({"text": short_texts, "thought": st.just(True)} | signed)
call_parts = fields({"functionCall": fields({"name": names, "args": objects}, {"id": ids})}, signed)
other_parts = fields({"inlineData": objects})
responses = (
    st.fixed_dictionaries({"output": short_texts})
    | st.fixed_dictionaries({"result": short_texts})
    | st.fixed_dictionaries({"error": short_texts})
    | objects
)
result_parts = fields(
    {"functionResponse": fields({"name": names, "response": responses}, {"id": ids})}
)
user_contents = st.lists(text_parts | other_parts, min_size=1, max_size=3) | st.lists(
    result_parts, min_size=1, max_size=3
)
model_contents = st.lists(
    text_parts | thought_parts | call_parts | other_parts, min_size=1, max_size=4
)
declarations = fields(
    {"name": names, "description": short_texts},
    {"parametersJsonSchema": schemas, "response": objects},
) | fields({"name": names, "description": short_texts, "parameters": st.just({"type": "OBJECT"})})
choices = st.sampled_from(
    [
        {"functionCallingConfig": {"mode": "AUTO"}},
        {"functionCallingConfig": {"mode": "NONE"}},
        {"functionCallingConfig": {"mode": "ANY"}},
        {"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["f"]}},
        {"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["f", "g"]}},
        {"functionCallingConfig": {"mode": "VALIDATED"}, "x": 1},
    ]
)


@st.composite
def requests(draw: Any) -> dict[str, Any]:
    """A request as a conforming client would send it."""
    body: dict[str, Any] = draw(
        fields(
            {},
            {
                "systemInstruction": st.fixed_dictionaries(
                    {"parts": st.lists(text_parts, min_size=1, max_size=2)}
                ),
                "generationConfig": fields({"maxOutputTokens": counts}, {"topK": counts}),
                "safetySettings": st.lists(objects, max_size=2),
            },
        )
    )
    body["contents"] = [
        {"role": role, "parts": parts}
        for pair in draw(st.lists(st.tuples(user_contents, model_contents), min_size=1, max_size=3))
        for role, parts in zip(("user", "model"), pair, strict=True)
    ]
    if draw(st.booleans()):
        declared = draw(st.lists(declarations, min_size=1, max_size=3))
        body["tools"] = [{"functionDeclarations": declared}, {"googleSearch": {}}]
        body["toolConfig"] = draw(choices)
    return body


usages = fields(
    {"promptTokenCount": counts, "candidatesTokenCount": counts},
    {
        "thoughtsTokenCount": counts,
        "cachedContentTokenCount": counts,
        "totalTokenCount": counts,
    },
)


def _call_id(part: Any) -> object:
    """The id of a call, which occurs once in an answer; every other part is different."""
    return part.get("functionCall", {}).get("id") or id(part)


@st.composite
def answers(draw: Any) -> dict[str, Any]:
    """An answer as a conforming server would send it."""
    part = text_parts | thought_parts | call_parts | other_parts
    parts = draw(st.lists(part, max_size=4, unique_by=_call_id))
    called = any("functionCall" in part for part in parts)
    finish = "STOP" if called else draw(st.sampled_from(["STOP", "SAFETY", "MAX_TOKENS", "OTHER"]))
    body: dict[str, Any] = draw(
        fields({"usageMetadata": usages, "modelVersion": short_texts, "responseId": ids})
    )
    body = answer(*parts, finish=finish) | body
    body["candidates"][0] |= draw(fields({}, {"avgLogprobs": st.just(-0.5)}))
    return body
