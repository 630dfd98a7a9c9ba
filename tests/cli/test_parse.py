from __future__ import annotations

import argparse
import io
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from cli.parse import run
from probes.messages import JSON

PROJECT = Path(__file__).resolve().parents[2]
SCHEMA: JSON = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
    "required": ["city"],
}
TOOLS: JSON = [
    {"type": "function", "function": {"name": "get_weather", "parameters": SCHEMA}},
    {"name": "now", "parameters": {"type": "object", "properties": {}}},
]
HERMES = '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Paris"}}\n</tool_call>'
QWEN = (
    "<tool_call>\n<function=get_weather>\n<parameter=city>\nParis\n</parameter>\n"
    "<parameter=days>\n3\n</parameter>\n</function>\n</tool_call>"
)
TEXTS = [
    HERMES,
    QWEN,
    f"Let me look.\n\n{HERMES}\nDone.",
    f"<think>Which city? Paris.</think>\n{HERMES}",
    f"<think>I could {HERMES}</think>",
    "Only prose about `<tool_call>` and nothing else.",
    "",
    "\ud800 <tool_call> \0 </think>",
    HERMES[:-30],
    "<tool_call>{'name': 'get_weather', 'arguments': {'city': 'Paris',}}</tool_call>",
]


def options(**over: object) -> argparse.Namespace:
    return argparse.Namespace(
        **{"format": "auto", "tools": None, "stream": None, "jsonl": False, **over}
    )


def parse(data: str | bytes, **over: object) -> tuple[int, list[dict[str, Any]], str]:
    raw = data if isinstance(data, bytes) else data.encode()
    stdout, stderr = io.StringIO(), io.StringIO()
    code = run(options(**over), io.BytesIO(raw), stdout, stderr)
    return code, [json.loads(line) for line in stdout.getvalue().splitlines()], stderr.getvalue()


def line(text: str, id: JSON = "a", **fields: JSON) -> str:
    return json.dumps({"id": id, "text": text, "tools": TOOLS, **fields}) + "\n"


def parse_one(text: str, **fields: JSON) -> dict[str, Any]:
    code, outputs, _ = parse(line(text, **fields), jsonl=True)
    assert code == 0
    return outputs[0]


def test_one_text_gives_one_object_with_the_promised_fields(tmp_path: Path) -> None:
    """The output format is part of the public interface."""
    tools = tmp_path / "tools.json"
    tools.write_text(json.dumps(TOOLS))

    code, [output], errors = parse(f"Let me look.\n\n{QWEN}", tools=tools)

    call_id = output["calls"][0].pop("id")
    assert (code, errors) == (0, "")
    assert isinstance(call_id, str)
    assert output == {
        "id": None,
        "calls": [
            {
                "name": "get_weather",
                "input": {"city": "Paris", "days": 3},
                "format": "qwen_xml",
                "repairs": [],
            }
        ],
        "text": "Let me look.\n\n",
        "reasoning": None,
        "errors": [],
        "markup": [],
    }


def test_text_is_verbatim_and_null_where_there_is_none() -> None:
    """An empty answer differs from one that was only a call."""
    assert parse_one(HERMES)["text"] is None
    assert parse_one("")["text"] is None
    assert parse_one(" two  spaces\r\n")["text"] == " two  spaces\r\n"


def test_reasoning_is_told_from_text() -> None:
    """The prompt may have opened the think tag already."""
    output = parse_one("Paris it is.</think>Hello", prefill="<think>\n")

    assert (output["text"], output["reasoning"]) == ("Hello", "Paris it is.")
    assert parse_one("Hello")["reasoning"] is None


def test_a_call_in_the_reasoning_is_marked() -> None:
    """A call inside the reasoning is listed with a mark."""
    [call] = parse_one(f"<think>{HERMES}</think>")["calls"]

    assert call["repairs"] == ["found_in_reasoning"]


def test_a_call_that_the_visible_part_repeats_is_listed_once() -> None:
    """The draft in the reasoning is not a second call."""
    [call] = parse_one(f"<think>{HERMES}</think>\n{HERMES}")["calls"]

    assert call["repairs"] == []


def test_equal_calls_have_ids_of_their_own() -> None:
    """Two results must match two calls."""
    calls = parse_one(f"{HERMES}\n{HERMES}")["calls"]

    assert len({call["id"] for call in calls}) == 2


def test_equal_calls_of_two_turns_have_ids_of_their_own() -> None:
    """Every line of the input is a turn."""
    entry = line(HERMES)

    _, outputs, _ = parse(f"{entry}{entry}", jsonl=True)

    assert len({output["calls"][0]["id"] for output in outputs}) == 2


def test_markup_that_does_not_run_is_listed_with_its_place_and_the_reason() -> None:
    """What looks like a call is either in `calls` or in `markup`, and `text` keeps it."""
    fenced = f"```\n{HERMES}\n```\n"
    text = f'{fenced}{HERMES}\nThat is how. [TOOL_CALLS]get_weather{{"city'

    output = parse_one(text)

    assert output["calls"] == []
    assert [(item["format"], item["reason"]) for item in output["markup"]] == [
        ("hermes", "fenced"),
        ("hermes", "followed_by_text"),
        ("mistral", "cut_off"),
    ]
    spans = [text[slice(*item["span"])] for item in output["markup"]]
    assert [HERMES in span for span in spans] == [True, True, False]


def test_an_id_that_the_model_gives_twice_is_told_apart() -> None:
    """The first call keeps the id; Kimi's and Mistral's own ids stay if they differ."""
    call = "<|tool_call_begin|>functions.now:0<|tool_call_argument_begin|>{}<|tool_call_end|>"
    section = f"<|tool_calls_section_begin|>{call}{call}<|tool_calls_section_end|>"

    calls = parse_one(section)["calls"]

    assert [call["id"] for call in calls] == ["functions.now:0", "functions.now:0_dup1"]


@pytest.mark.parametrize(
    ("text", "repairs"),
    [
        (HERMES.replace("}}", "},}"), ["trailing_comma"]),
        (HERMES.replace('"name"', "name"), ["unquoted_keys"]),
        (HERMES.replace("}}", "} /* x */}"), ["comments"]),
    ],
)
def test_a_repair_around_the_arguments_is_named(text: str, repairs: list[str]) -> None:
    """A caller that forbids repaired calls can detect them."""
    [call] = parse_one(text)["calls"]

    assert call["repairs"] == repairs


def test_a_call_whose_json_is_never_closed_is_an_error() -> None:
    """Closing brackets is for statistics, never for execution."""
    output = parse_one(HERMES.replace("}}", "}"))

    assert output["calls"] == []
    assert [error["code"] for error in output["errors"]] == ["invalid_json"]


def test_an_unknown_tool_is_an_error_that_lists_the_tools() -> None:
    """The model can correct itself."""
    output = parse_one(HERMES.replace("get_weather", "weather_of"))

    assert (output["calls"], output["text"]) == ([], None)
    assert [error["code"] for error in output["errors"]] == ["unknown_tool"]
    assert "get_weather, now" in output["errors"][0]["message"]


def test_a_call_cut_off_before_its_name_is_an_error() -> None:
    """The opening of a call is not taken for the answer."""
    output = parse_one('I look.\n<tool_call>\n{"na', truncated=True)

    assert output["text"] == "I look.\n"
    assert [error["code"] for error in output["errors"]] == ["truncated_call"]


def test_a_broken_call_is_an_error_with_code_message_path_and_retryable() -> None:
    """The four fields that a caller feeds back to the model."""
    output = parse_one(HERMES.replace('"Paris"', "5"))

    assert output["calls"] == []
    assert output["errors"] == [
        {
            "code": "schema_mismatch",
            "message": '5 is not of type "string".',
            "path": "$.city",
            "retryable": True,
        }
    ]


def test_a_cut_call_is_never_listed_as_a_call() -> None:
    """After the token limit, a call that looks complete is not trusted."""
    output = parse_one(HERMES.removesuffix("\n</tool_call>"), truncated=True)

    assert output["calls"] == []
    assert [error["code"] for error in output["errors"]] == ["truncated_call"]


@pytest.mark.parametrize("seed", [0, 1, 7])
def test_streamed_in_pieces_the_output_is_the_same(seed: int) -> None:
    """Ids included."""
    lines = "".join(line(text, number) for number, text in enumerate(TEXTS))

    assert parse(lines, jsonl=True, stream=seed) == parse(lines, jsonl=True)


@pytest.mark.parametrize(
    "bad",
    [
        "not json",
        "[]",
        '{"id": "x"}',
        '{"id": "x", "text": 5}',
        '{"id": "x", "text": "", "tools": 5}',
        '{"id": "x", "text": "", "tools": [{"type": "function"}]}',
        '{"id": "x", "text": "", "tools": [{"name": "f", "parameters": []}]}',
        '{"id": "x", "text": "", "prefill": 1}',
        '{"id": "x", "text": "", "truncated": "yes"}',
        b'{"id": "x", "text": "\xff"}',
    ],
)
def test_a_bad_line_is_answered_in_its_place(bad: str | bytes) -> None:
    """Every line gets an output line; the exit code says that one was invalid."""
    raw = bad if isinstance(bad, bytes) else bad.encode()
    data = line("one", 1).encode() + raw + b"\n\n" + line("two", 2).encode()

    code, outputs, errors = parse(data, jsonl=True)

    assert code == 2
    assert [output["text"] for output in outputs] == ["one", None, "two"]
    assert outputs[1]["id"] == ("x" if '{"id"' in str(bad) and b"\xff" not in raw else None)
    assert [error["code"] for error in outputs[1]["errors"]] == ["bad_input"]
    assert errors.startswith("toolgauge parse: line 2: ")


def test_tools_of_the_file_hold_for_lines_that_bring_none(tmp_path: Path) -> None:
    """A line's own tools win."""
    tools = tmp_path / "tools.json"
    tools.write_text(json.dumps({"tools": TOOLS}))
    own: JSON = [{"name": "other"}]
    lines = json.dumps({"id": 1, "text": HERMES}) + "\n" + line(HERMES, 2, tools=own)

    _, outputs, _ = parse(lines, jsonl=True, tools=tools)

    assert [len(output["calls"]) for output in outputs] == [1, 0]


@pytest.mark.parametrize(
    "over", [{"format": "nonsense"}, {"tools": Path("/nonexistent/tools.json")}, {"tools": PROJECT}]
)
def test_wrong_usage_is_told_on_standard_error(over: dict[str, object]) -> None:
    """Exit 2 and nothing on standard output."""
    code, outputs, errors = parse("text", **over)

    assert (code, outputs) == (2, [])
    assert errors.startswith("toolgauge parse: ")


def test_a_thousand_lines_go_through_one_process() -> None:
    """In order, without Django, messages apart from data."""
    texts = [TEXTS[number % len(TEXTS)] for number in range(1000)]
    lines = "".join(line(text, number) for number, text in enumerate(texts))

    result = subprocess.run(
        [sys.executable, "-m", "cli.main", "parse", "--jsonl", "--stream", "3"],
        input=lines.encode(),
        capture_output=True,
        cwd=PROJECT,
        check=False,
        timeout=120,
    )

    outputs = [json.loads(output) for output in result.stdout.splitlines()]
    assert (result.returncode, result.stderr) == (0, b"")
    assert [output["id"] for output in outputs] == list(range(1000))
    assert outputs[0]["calls"][0]["name"] == "get_weather"


def test_the_command_does_not_wait_for_django() -> None:
    """A pipe in a shell should start at once."""
    code = "import sys, cli.parse; print('django' in sys.modules)"
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, cwd=PROJECT, check=True, timeout=60
    )

    assert result.stdout.strip() == b"False"
