"""Gemini's parts to ours and back. A part is never rebuilt, because its signature belongs to it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from probes.adapters.images import typed_parts
from probes.adapters.json_fields import (
    MINTED,
    Notes,
    argument_text,
    copy_object,
    is_minted_id,
    keep_extra,
    list_or_empty,
    mint_call_id,
    object_or_empty,
    own_fields,
    require_object,
    require_text,
    text_or_empty,
    unread_fields,
)
from probes.messages import (
    JSON,
    Breakage,
    BrokenCall,
    Image,
    Opaque,
    Part,
    Reasoning,
    ReasoningKind,
    Text,
    ToolCall,
    ToolResult,
)

FORMAT = "gemini"
MAX_PARTS = 1024
# The key of a text result that was not the documented "output".
RESPONSE_KEY = "response_key"
TEXT_KEYS = ("output", "result")
SNAKE = (
    "systemInstruction generationConfig toolConfig safetySettings cachedContent maxOutputTokens "
    "functionDeclarations functionCallingConfig allowedFunctionNames parametersJsonSchema "
    "functionCall functionResponse thoughtSignature inlineData fileData executableCode "
    "codeExecutionResult mimeType googleSearch codeExecution urlContext "
    "topP topK stopSequences presencePenalty frequencyPenalty responseMimeType responseSchema "
    "responseJsonSchema thinkingConfig includeThoughts thinkingBudget thinkingLevel"
)
CAMEL = {
    "".join(f"_{char.lower()}" if char.isupper() else char for char in name): name
    for name in SNAKE.split()
}


def camel_case_fields(entry: Mapping[str, JSON]) -> dict[str, JSON]:
    """An object with its known fields in camel case: the API accepts both spellings."""
    return {CAMEL.get(name, name): value for name, value in entry.items()}


def is_plain(entry: Mapping[str, JSON]) -> bool:
    """Whether a part is only text, so that it can be joined with its neighbour."""
    if not isinstance(entry.get("text"), str):
        return False
    return len(entry) == 1 or (len(entry) == 2 and entry.get("thought") is True)


def read_part(item: JSON, path: str, notes: Notes, seed: str) -> Part:
    """One part other than a result; an unknown part is kept whole."""
    entry = camel_case_fields(require_object(item, path))
    match entry:
        case {"functionCall": call}:
            body = camel_case_fields(require_object(call, f"{path}.functionCall"))
            return _read_call(
                entry, body, path, lambda *seeds: mint_call_id(notes.seed, seed, *seeds)
            )
        case {"thought": True}:
            content = text_or_empty(entry.get("text"))
            return Reasoning(content, ReasoningKind.THOUGHT, entry)
        case {"inlineData": inline} if (image := _read_image(inline)) is not None:
            extra = keep_extra(FORMAT, unread_fields(entry, "inlineData"))
            return replace(image, extra=extra)
        case {"text": str(content)}:
            return Text(content, keep_extra(FORMAT, unread_fields(entry, "text")))
        case _:
            if not entry:
                notes.note("empty_part", path)
            return Opaque(FORMAT, entry)


def write_part(part: Part) -> dict[str, JSON] | None:
    """The part in this format, or None if it has no place; results are written elsewhere."""
    match part:
        case Text():
            return {"text": part.text} | own_fields(part.extra, FORMAT)
        case Reasoning(kind=ReasoningKind.THOUGHT, raw=Mapping() as raw):
            return dict(raw)
        case ToolCall():
            return _write_call(part)
        case Image(data=str(data)) if data:
            return write_inline(part) | own_fields(part.extra, FORMAT)
        case Opaque(format="gemini", raw=Mapping() as raw):
            return dict(raw)
        case _:
            return None


def write_inline(image: Image) -> dict[str, JSON]:
    """The data of a picture in a content or a result."""
    return {"inlineData": {"mimeType": image.media_type, "data": image.data}}


def _read_image(value: JSON) -> Image | None:
    match camel_case_fields(value) if isinstance(value, Mapping) else {}:
        case {"mimeType": str(kind), "data": str(data), **more} if not more:
            return Image(kind, data) if kind.startswith("image/") else None
        case _:
            return None


def read_result(entry: Mapping[str, JSON], path: str, call_id: str) -> ToolResult:
    """A functionResponse part; `call_id` is the call it answers if it names none."""
    body = require_object(entry.get("functionResponse"), f"{path}.functionResponse")
    more = unread_fields(entry, "functionResponse")
    images = _result_images(body.get("parts"))
    known = ("name", "id", "response", *(("parts",) if images else ()))
    if unread := unread_fields(body, *known):
        more["functionResponse"] = unread
    id_ = text_or_empty(body.get("id"))
    if not id_:
        more[MINTED] = True
    content, is_error, blocks = _read_response(body.get("response"), more)
    name = require_text(body, "name", f"{path}.functionResponse")
    parts = typed_parts([*([Text(content)] if content else []), *images])
    extra = keep_extra(FORMAT, more)
    return ToolResult(id_ or call_id, content, is_error, name, blocks, extra, parts)


def _result_images(value: JSON) -> tuple[Image, ...]:
    """The pictures of a result, if its parts are nothing else."""
    items = [camel_case_fields(object_or_empty(item)) for item in list_or_empty(value)]
    images = [_read_image(item.get("inlineData")) for item in items if set(item) == {"inlineData"}]
    found = tuple(image for image in images if image is not None)
    return found if len(found) == len(items) else ()


def write_result(result: ToolResult, name: str, *, minted: bool) -> dict[str, JSON]:
    """A functionResponse part. An id is sent only if the call had one."""
    more = own_fields(result.extra, FORMAT)
    key = "error" if result.is_error else str(more.get(RESPONSE_KEY) or TEXT_KEYS[0])
    response: JSON = {key: result.content}
    if carries_response(result):
        response = copy_object(require_object(result.blocks[0], ""), "response")
    body: dict[str, JSON] = {"name": result.name or name or result.call_id}
    if not minted and MINTED not in more:
        body["id"] = result.call_id
    body |= {"response": response}
    if images := [write_inline(image) for image in result.images if image.data]:
        body["parts"] = images
    body |= copy_object(more, "functionResponse")
    return {"functionResponse": body} | unread_fields(
        more, "functionResponse", MINTED, RESPONSE_KEY
    )


def carries_response(result: ToolResult) -> bool:
    """Whether a result's blocks are the response object of this format."""
    match result.blocks:
        case ({"response": Mapping(), **more},):
            return not more
        case _:
            return False


def carries_reasoning(reasoning: Reasoning) -> bool:
    return reasoning.kind is ReasoningKind.THOUGHT and isinstance(reasoning.raw, Mapping)


def is_minted(call: ToolCall) -> bool:
    """Whether the call was received without an id."""
    return MINTED in own_fields(call.extra, FORMAT) or is_minted_id(call.id)


def _read_call(
    entry: Mapping[str, JSON], call: Mapping[str, JSON], path: str, mint: Callable[..., str]
) -> ToolCall | BrokenCall:
    at = f"{path}.functionCall"
    name = require_text(call, "name", at)
    args = call.get("args")
    raw = argument_text({} if args is None else args)
    id_ = text_or_empty(call.get("id"))
    used = id_ or mint(name, raw)
    if call.get("willContinue") is True or "partialArgs" in call:
        error, kind = "The call came in pieces of a kind that is not read.", Breakage.TRUNCATED_CALL
        return BrokenCall(argument_text(call), error, kind, name, used, at, FORMAT)
    if not isinstance(args, Mapping | None):
        error, kind = "The args of the call are not an object.", Breakage.NOT_AN_OBJECT
        return BrokenCall(raw, error, kind, name, used, f"{at}.args", FORMAT)
    more = unread_fields(entry, "functionCall")
    if unread := unread_fields(call, "name", "args", "id"):
        more["functionCall"] = unread
    if not id_:
        more[MINTED] = True
    return ToolCall(used, name, args or {}, FORMAT, raw, extra=keep_extra(FORMAT, more))


def _write_call(call: ToolCall) -> dict[str, JSON]:
    more = own_fields(call.extra, FORMAT)
    body: dict[str, JSON] = {"name": call.name, "args": dict(call.input)}
    if not is_minted(call):
        body["id"] = call.id
    return {"functionCall": body | copy_object(more, "functionCall")} | unread_fields(
        more, "functionCall", MINTED
    )


def _read_response(response: JSON, more: dict[str, JSON]) -> tuple[str, bool, tuple[JSON, ...]]:
    match response:
        case {"output": str(text), **others} if not others:
            return text, False, ()
        case {"result": str(text), **others} if not others:
            more[RESPONSE_KEY] = "result"
            return text, False, ()
        case {"error": str(text), **others} if not others:
            return text, True, ()
        case Mapping():
            failed = bool(response.get("error"))
            return argument_text(response), failed, ({"response": response},)
        case _:
            return "", False, ()
