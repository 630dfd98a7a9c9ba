"""What a model may write around and inside its calls, and what each text says.

Prose and reasoning have Greek letters and calls have none, so that a test can tell where any
character of a text came from.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from probes.messages import JSON, ToolCall, ToolSpec
from probes.parsers.code_formats.pythonic import STOPS
from tests.probes.parsers.writers import FORMATS, Call, P

GREEK = "αβγδεζηθικλμνξοπρστυφχψω"


def _object(**properties: JSON) -> dict[str, JSON]:
    # Nothing is required: a call that lost an argument would be valid, and must not be executed.
    return {"type": "object", "properties": properties, "additionalProperties": False}


def _array(items: JSON) -> dict[str, JSON]:
    return {"type": "array", "items": items}


_STRING, _INTEGER, _NUMBER, _BOOLEAN, _NULL = (
    {"type": name} for name in ("string", "integer", "number", "boolean", "null")
)
_OPTIONS = _object(
    mode=_STRING, depth=_INTEGER, tags=_array(_STRING), on=_BOOLEAN, inner=_object(note=_STRING)
)
_FREE = {"type": "object"}
# One name is the beginning of another, so that a name may be cut off and still be a tool's.
TOOLS = tuple(
    ToolSpec(name, "", schema)
    for name, schema in {
        "ping": _object(),
        "get": _object(key=_STRING, limit=_INTEGER),
        "get_weather": _object(city=_STRING, days=_INTEGER, metric=_BOOLEAN, above=_NUMBER),
        "write_file": _object(path=_STRING, content=_STRING),
        "set_options": _object(options=_OPTIONS, rows=_array(_object(sku=_STRING, n=_INTEGER))),
        "store": _object(points=_array(_NUMBER), nothing=_NULL, extra=_FREE),
    }.items()
)


@dataclass(frozen=True)
class Dialect:
    """What is special about the texts of one format.

    `tags` are tags of its own, which a string may speak of. `never` cannot stand in a string,
    since the format has no way to write it. `stops` may follow the last call.
    """

    tags: tuple[str, ...] = ()
    never: tuple[str, ...] = ()
    stops: tuple[str, ...] = ()
    think: tuple[str, str] = ("<think>", "</think>")
    # Line breaks at both ends of a string are layout, which the writer does not add.
    bare_lines: bool = False
    # Values between tags that are named after them: null has no tags, and what the schema does
    # not declare has no type.
    typed_tags: bool = False


_QWEN = ("</parameter>", "</function>", "</tool_call>", "<parameter=city>")
_INVOKE = ("</parameter>", "</invoke>", '<parameter name="city">', '<invoke name="get">')
_GLM = ("</arg_value>", "</tool_call>", "<arg_value>", "<arg_key>", "<tool_call>")
_LLAMA = ("<|eom_id|>", "<|eot_id|>")
_STEP = ("</steptml:parameter>", "</steptml:invoke>", '<steptml:invoke name="get">')
_ATEM = ("</atem:parameter>", "</atem:invoke>", '<atem:invoke name="get">')
_HUNYUAN = tuple(f"{tag[:-1]}:opensource>" for tag in _GLM)
_KIMI_K3 = ("<|close|>argument<|sep|>", "<|close|>call<|sep|>", '<|open|>call tool="get"<|sep|>')
_KIMI_THINK = ("<|open|>think<|sep|>", "<|close|>think<|sep|>")
_GIGACHAT = Dialect(("<|message_sep|>", "<|role_sep|>"), stops=("</s>", "<|message_sep|>"))
_SOLAR = ("<|think|>", "<|end|>")
_DSML = ("</｜DSML｜parameter>", "</｜DSML｜invoke>", '<｜DSML｜invoke name="get">')
_PYTHON_TAGS = ("<|python_end|>", "<|eot|>")
_MUSE = Dialect(
    (*_ATEM, "<|eom|>"),
    stops=("<|eot|>",),
    think=("<|start|>assistant to=self<|message|>", "<|eom|>"),
)
DIALECTS: Mapping[str, Dialect] = {
    "hermes": Dialect(("</tool_call>", "<tool_call>")),
    "qwen_xml": Dialect(_QWEN),
    "invoke": Dialect(_INVOKE),
    "minimax_m2": Dialect((*_INVOKE, "</minimax:tool_call>")),
    "minimax_m3": Dialect(
        (f"{P}</city>", f"{P}</invoke>", f"{P}<b>", f'{P}<invoke name="get">'),
        think=("<mm:think>", "</mm:think>"),
        typed_tags=True,
    ),
    "glm_45": Dialect(_GLM),
    "glm_47": Dialect(_GLM),
    "deepseek_v3": Dialect(("<｜tool▁call▁end｜>", "<｜tool▁calls▁end｜>", "```")),
    "deepseek_v31": Dialect(("<｜tool▁call▁end｜>", "<｜tool▁calls▁end｜>")),
    "dsml": Dialect(_DSML),
    "kimi_k2": Dialect(("<|tool_call_end|>", "<|tool_calls_section_end|>")),
    "kimi_k3": Dialect(_KIMI_K3, think=_KIMI_THINK),
    "mistral_array": Dialect(("[TOOL_CALLS]", "[ARGS]"), think=("[THINK]", "[/THINK]")),
    "mistral_v11": Dialect(("[TOOL_CALLS]", "[ARGS]{"), think=("[THINK]", "[/THINK]")),
    "llama_tag": Dialect(("<|python_tag|>", *_LLAMA), stops=_LLAMA),
    "llama_bare": Dialect(("; {", *_LLAMA), stops=_LLAMA),
    "llama_function": Dialect(("</function>", "<function=get>")),
    "pythonic": Dialect(_PYTHON_TAGS, stops=STOPS),
    "harmony": Dialect(
        ("<|call|>", "<|end|>", "<|start|>"), think=("<|channel|>analysis<|message|>", "<|end|>")
    ),
    "name_arguments": Dialect(("</arguments>", "</tool_call>", "<name>")),
    "seed_three": Dialect(("</arguments>", "</minimax:tool_call>")),
    "child_invoke": Dialect(("</city>", "</write_file>", "</invoke>", "<get>")),
    "json_text": Dialect(("```", "```json")),
    "phi4_mini": Dialect(("functools[",)),
    "phi4_mini_tags": Dialect(("<|/tool_call|>",)),
    "granite3": Dialect(("<|tool_call|>",)),
    "cohere": Dialect(("<|END_ACTION|>",), think=("<|START_THINKING|>", "<|END_THINKING|>")),
    "command_r": Dialect(("```", "Action:")),
    "tool_calls": Dialect(("</tool_calls>",)),
    "minimax_m1": Dialect(("</tool_calls>",)),
    "hunyuan": Dialect(("</tool_calls>", "</answer>")),
    "nemotron": Dialect(("</TOOLCALL>",)),
    "longcat": Dialect(("</longcat_tool_call>",), think=("<longcat_think>", "</longcat_think>")),
    "internlm": Dialect(("<|action_end|>",)),
    "apertus": Dialect(("<|tools_suffix|>",), think=("<|inner_prefix|>", "<|inner_suffix|>")),
    "xlam": Dialect(('"tool_calls": [',)),
    "gemma4": Dialect(
        ("<tool_call|>", "<turn|>"), ('<|"|>',), ("<turn|>",), ("<|channel>thought", "<channel|>")
    ),
    "functiongemma": Dialect(("<end_function_call>",), ("<escape>",), ("<end_of_turn>",)),
    "llama4": Dialect(_PYTHON_TAGS, stops=STOPS),
    "pythonic_eot": Dialect(_PYTHON_TAGS),
    "lfm2": Dialect(("<|tool_call_end|>",), stops=("<|im_end|>",)),
    "lfm2_json": Dialect(("<|tool_call_end|>",), stops=("<|im_end|>",)),
    "olmo3": Dialect(("</function_calls>",)),
    "tool_code": Dialect(("```",)),
    "tool_code_print": Dialect(("```", "print(")),
    "hunyuan3": Dialect(_HUNYUAN, think=("<think:opensource>", "</think:opensource>")),
    "hunyuan3_plain": Dialect((*_GLM, "</tool_calls>")),
    "seed_oss": Dialect(
        (*_QWEN, "</seed:tool_call>"), think=("<seed:think>", "</seed:think>"), bare_lines=True
    ),
    "step3": Dialect(_STEP),
    "minicpm5": Dialect(("</param>", "</function>", "<![CDATA[", "]]>", '<function name="get">')),
    "muse_glimmer": _MUSE,
    "atem": Dialect(_ATEM),
    "inkling": Dialect(
        ("<|end_message|>",),
        stops=("<|content_model_end_sampling|>",),
        think=("<|content_thinking|>", "<|end_message|>"),
    ),
    "dots": Dialect((*_INVOKE, "</dots_function_call>")),
    "gigachat3": _GIGACHAT,
    "gigachat31": _GIGACHAT,
    "solar_open": Dialect(("<|tool_call:end|>", "<|calls|>"), think=_SOLAR),
    "solar_open2": Dialect(
        ("<|tool_arg:end|>", "<|tool_call:end|>", "<|tool_call:start|>"), think=_SOLAR
    ),
    "functionary": Dialect((">>>get", ">>>all"), stops=_LLAMA),
    "functionary_first": Dialect((">>>get",), stops=_LLAMA),
    "qwen_agent": Dialect(("✿ARGS✿", "✿RESULT✿")),
    "react": Dialect(("Action:", "Observation:")),
}

# Tags of other families, which mean nothing inside a call.
_FOREIGN = (
    "</think>",
    "<tool_call>",
    "[TOOL_CALLS]",
    "<|im_end|>",
    "</parameter>",
    "<function=get>",
)
_AWKWARD = (
    '"', "'", "\\", "\\n", "\n", "\t", "{", "}", "[1]", "<", ">", "&lt;", "|", "`", "//", "/*", "#",
    "007", "true", "null", '{"a": 1}', "日本", "🚀", "e\u0301", "\u200b", "\0", "\r\n", " ",
)  # fmt: skip
_WORDS = ("x", "one two", "Paris", "a.b", "it's")
_CHARACTERS = st.characters(codec="utf-8", exclude_characters=GREEK, exclude_categories=["Cs"])


@cache
def strings(key: str) -> SearchStrategy[str]:
    """Strings that the format can carry without doubt.

    A tag of the format stands between words of one line: alone at the end of a value or of a line
    it may as well be the real one. Calls are quoted whole.
    """
    dialect = DIALECTS[key]
    write = FORMATS[key].write
    quoted = write([("get", {"key": "q", "limit": 1})]) + write([("ping", {})])
    mentions = [f"see {tag} there" for tag in (*dialect.tags, *_FOREIGN, quoted)]
    pieces = st.sampled_from((*_WORDS, *_AWKWARD, *mentions)) | st.text(_CHARACTERS, max_size=6)
    texts = st.lists(pieces, max_size=4).map("".join)
    return texts.filter(lambda text: _carries(dialect, text))


def _carries(dialect: Dialect, text: str) -> bool:
    if dialect.bare_lines and (text[:1] == "\n" or text[-1:] == "\n"):
        return False
    return not any(token in text for token in dialect.never)


@cache
def calls_of(key: str) -> SearchStrategy[Call]:
    """A call of a declared tool, with any of its arguments."""
    typed_tags = DIALECTS[key].typed_tags
    tools = [tool for tool in TOOLS if not (typed_tags and tool.name == "store")]
    return st.one_of(
        [st.tuples(st.just(tool.name), _values(tool.schema or {}, key)) for tool in tools]
    )


def _values(schema: Mapping[str, Any], key: str) -> SearchStrategy[Any]:
    match schema["type"]:
        case "object" if "properties" in schema:
            properties = schema["properties"].items()
            members = {name: _values(inner, key) for name, inner in properties}
            return _some_of(members)
        case "object":
            return _free_objects(key)
        case "array":
            return st.lists(_values(schema["items"], key), max_size=3)
        case kind:
            return _leaves(key)[kind]


@st.composite
def _some_of(draw: st.DrawFn, members: Mapping[str, SearchStrategy[Any]]) -> dict[str, Any]:
    keys = draw(st.lists(st.sampled_from(sorted(members)), unique=True)) if members else []
    return {key: draw(members[key]) for key in keys}


def _leaves(key: str) -> Mapping[str, SearchStrategy[Any]]:
    return {
        "string": strings(key),
        "integer": st.integers(-(10**20), 10**20),
        "number": st.floats(allow_nan=False, allow_infinity=False) | st.integers(-99, 99),
        "boolean": st.booleans(),
        "null": st.none(),
    }


@cache
def _free_objects(key: str) -> SearchStrategy[Any]:
    keys = st.sampled_from(("a", "name", "arguments", "type", "key_2", "Ab"))
    leaves = st.one_of(list(_leaves(key).values()))
    inner = st.recursive(
        leaves,
        lambda inner: st.lists(inner, max_size=2) | st.dictionaries(keys, inner, max_size=2),
        max_leaves=4,
    )
    return st.dictionaries(keys, inner, max_size=3)


@dataclass(frozen=True)
class Answer:
    """One text of a model, and what it says."""

    text: str
    calls: Sequence[Call] = ()
    visible: str | None = None
    reasoning: str | None = None
    prefill: str = ""
    format: str = "auto"

    @property
    def options(self) -> dict[str, Any]:
        return {"format": self.format, "prefill": self.prefill}


_GREEK_WORDS = st.sampled_from(("αβγ", "δεζη", "θικ", "λμ νξ", "οπρσ", "τυφ", "χψω", "αω"))
_SENTENCES = st.builds(
    "{} {}{}".format,
    _GREEK_WORDS,
    _GREEK_WORDS,
    st.sampled_from((".", "!", "…", ":", ", (λ).", "。")),
)
_INLINE = st.builds(
    "{} `{}` {}.".format,
    _GREEK_WORDS,
    st.sampled_from(("<tool_call>", "</think>", "[TOOL_CALLS]", "f(x)", "<function=get>", "{")),
    _GREEK_WORDS,
)
_LISTS = st.lists(_GREEK_WORDS, min_size=1, max_size=3).map(
    lambda words: "\n".join(f"- {word}" for word in words)
)
_CODE = st.sampled_from(
    ("x = [1]", '{"α": 1}', "<b>α</b>", "<tool_call>\nget\n</tool_call>", "get(key='α')", "a `b`")
)
_FENCES = st.builds("```{}\n{}\n```".format, st.sampled_from(("", "xml", "python", "txt")), _CODE)
_PARAGRAPHS = st.lists(_SENTENCES | _INLINE | _LISTS | _FENCES, min_size=1, max_size=3)
# A call begins on a line of its own.
_PROSE = st.builds(
    lambda paragraphs, between, end: between.join(paragraphs) + end,
    _PARAGRAPHS,
    st.sampled_from(("\n", "\n\n")),
    st.sampled_from(("\n", "\n\n", " \n")),
)
_THOUGHTS = st.builds(
    lambda start, thoughts, end: start + "\n".join(thoughts) + end,
    st.sampled_from(("", "\n")),
    st.lists(_SENTENCES | _LISTS, min_size=1, max_size=2),
    st.sampled_from(("", "\n", "\n\n")),
)


@dataclass(frozen=True)
class Thinking:
    """Reasoning before the visible part: what was prefilled, what the text begins with."""

    prefill: str = ""
    text: str = ""
    reasoning: str | None = None


@cache
def _thinking(dialect: Dialect) -> SearchStrategy[Thinking]:
    start, end = dialect.think

    def opened(thoughts: str) -> Thinking:
        return Thinking("", f"{start}{thoughts}{end}", thoughts)

    def prefilled(thoughts: str) -> Thinking:
        return Thinking(start, f"{thoughts}{end}", thoughts)

    def unopened(thoughts: str) -> Thinking:
        return Thinking("", f"{thoughts}{end}", thoughts)

    ways = [opened, prefilled, *([unopened] if start == "<think>" else [])]
    return st.just(Thinking()) | st.builds(
        lambda way, thoughts: way(thoughts), st.sampled_from(ways), _THOUGHTS
    )


@cache
def answers(key: str) -> SearchStrategy[Answer]:
    """Texts with one to four calls of a format, as `auto` and its own parser should read them."""
    format, dialect = FORMATS[key], DIALECTS[key]
    prose = st.just("") if format.whole else st.just("") | _PROSE
    return st.builds(
        _answer,
        st.just(key),
        st.lists(calls_of(key), min_size=1, max_size=4),
        prose=prose,
        thinking=_thinking(dialect),
        gap=st.sampled_from(("", "\n", "\n\n")),
        end=st.sampled_from(("", "\n", *dialect.stops)),
        format=st.sampled_from(("auto", format.name)),
    )


def _answer(
    key: str,
    calls: Sequence[Call],
    *,
    prose: str,
    thinking: Thinking,
    gap: str,
    end: str,
    format: str,
) -> Answer:
    visible = f"{gap}{prose}" if prose else None
    return Answer(
        f"{thinking.text}{gap}{prose}{FORMATS[key].write(calls)}{end}",
        calls,
        visible,
        thinking.reasoning,
        thinking.prefill,
        format,
    )


def canonical(name: str, arguments: Mapping[str, JSON]) -> tuple[str, str]:
    """A call in a form in which 1, 1.0 and true differ."""
    return name, json.dumps(arguments, sort_keys=True)


def executable(calls: Sequence[ToolCall]) -> list[tuple[str, str]]:
    return [canonical(call.name, call.input) for call in calls]


def written(calls: Sequence[Call]) -> list[tuple[str, str]]:
    return [canonical(name, arguments) for name, arguments in calls]
