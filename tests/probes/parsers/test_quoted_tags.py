"""Values that speak of the tags of their own format."""

from __future__ import annotations

import pytest

from probes.messages import ToolSpec
from probes.text_answer import read_text_answer
from tests.probes.parsers.read_helpers import TOOLS, calls, raw_calls, read_every_way
from tests.probes.parsers.writers import FORMATS

P = "]<]minimax[>["
OPENINGS = {
    "qwen_xml": "<parameter=b>",
    "invoke": '<parameter name="b">',
    "minimax_m2": '<parameter name="b">',
    "minimax_m3": f"{P}<b>",
    "dsml": '<｜DSML｜parameter name="b" string="true">',
    "kimi_k3": '<|open|>argument key="b" type="string"<|sep|>',
    "glm_45": "<arg_key>b</arg_key>\n<arg_value>",
    "glm_47": "<arg_key>b</arg_key><arg_value>",
}


@pytest.mark.parametrize("name", OPENINGS)
def test_z27_opening_tag_of_a_parameter_inside_a_line_of_a_value_is_text(name: str) -> None:
    """It is spoken of: the value goes on, and no parameter appears that was not written."""
    written = [("f", {"a": f"see {OPENINGS[name]} there", "c": "2"})]

    found = read_every_way(FORMATS[name].write(written))

    assert calls(found) == written
    assert raw_calls(found)[0].notes == ()


@pytest.mark.parametrize("tag", ["<parameter=b>", "</function>\n</tool_call>"])
@pytest.mark.parametrize("before", ["see:", "(", "see "])
def test_qwen_tag_behind_words_in_a_value_on_lines_of_its_own_is_text(
    before: str, tag: str
) -> None:
    """Qwen puts every tag at the start of a line."""
    written = [("f", {"a": f"{before}{tag}) there", "c": "2"})]

    assert calls(read_every_way(FORMATS["qwen_xml"].write(written))) == written


@pytest.mark.parametrize(
    "text",
    [
        "<function=f>\n<parameter=a>\n1\n<parameter=b>\n2\n</parameter>\n</function>",
        "<function=f><parameter=a>1<parameter=b>2</parameter></function>",
        '<invoke name="f"><parameter name="a">1<parameter name="b">2</parameter></invoke>',
        f'{P}<invoke name="f">{P}<a>1{P}<b>2{P}</b>{P}</invoke>\n{P}</tool_call>',
    ],
)
def test_opening_tag_at_a_line_start_or_right_behind_a_value_ends_it(text: str) -> None:
    """There a closing tag is missing."""
    found = read_every_way(text)

    assert calls(found) == [("f", {"a": "1", "b": "2"})]
    assert raw_calls(found)[0].notes == ("missing_close",)


def test_m3_tags_beside_words_are_text_and_alone_they_nest() -> None:
    """No value has both words and parts."""
    pair = f"{P}<b>x{P}</b>"

    found = read_every_way(f'{P}<invoke name="f">{P}<a>see {pair} here{P}</a>{P}</invoke>')
    nested = read_every_way(f'{P}<invoke name="f">{P}<a>\n{pair}\n{P}</a>{P}</invoke>')

    assert calls(found) == [("f", {"a": f"see {pair} here"})]
    assert calls(nested) == [("f", {"a": '{"b": "x"}'})]


@pytest.mark.parametrize("end", ["", f'{P}<invoke name="g">{P}</invoke>'])
def test_m3_call_without_its_end_tag_ends_where_the_next_begins_or_the_block_ends(
    end: str,
) -> None:
    """The end of the block ends it too."""
    text = f'{P}<tool_call>{P}<invoke name="f">{P}<a>1{P}</a>{end}{P}</tool_call>'

    found = read_every_way(text)

    assert calls(found)[0] == ("f", {"a": "1"})
    assert raw_calls(found)[0].notes == ("missing_end",)
    assert len(calls(found)) == (2 if end else 1)


@pytest.mark.parametrize("tag", [f"{P}</a>", f"{P}</x>", f"{P}</invoke>", f"{P}</tool_call>"])
def test_m3_closing_tag_between_words_of_a_value_is_text(tag: str) -> None:
    """It is spoken of: the value loses nothing, whichever tag it is."""
    written = [("f", {"a": f"see {tag} there", "c": "2"})]

    found = read_every_way(FORMATS["minimax_m3"].write(written))

    assert calls(found) == written
    assert raw_calls(found)[0].notes == ()


@pytest.mark.parametrize(
    "text",
    [
        '<invoke name="f">\n<parameter name="a">1</parameter>x\n'
        '<invoke name="f">\n<parameter name="b">2</parameter>\n</invoke>',
        "<function=f>\n<parameter=a>\n1\n</parameter>x\n"
        "<function=f>\n<parameter=b>\n2\n</parameter>\n</function>",
        '<function name="f"><param name="a">1</param>x\n'
        '<function name="f"><param name="b">2</param></function>',
        '<invoke name="f"><parameter name="a">1</parameter><parameter name="b">2</parameter>x'
        '<invoke name="f"><parameter name="a">3</invoke></parameter>'
        '<parameter name="b">4</parameter></invoke>',
    ],
    ids=["invoke", "qwen_xml", "minicpm5", "twice"],
)
def test_value_that_runs_on_into_the_next_call_makes_no_call_of_both(text: str) -> None:
    """Arguments of two calls are never executed as one."""
    [call] = raw_calls(read_every_way(text))
    answer = read_text_answer([text], TOOLS)

    assert call.fault or call.open_value
    assert (answer.calls, [call.name for call in answer.broken]) == ((), ["f"])


# Gemma's strings cannot contain the token that ends them, and a quoted call has it.
@pytest.mark.parametrize("name", sorted({*FORMATS} - {"gemma4", "functiongemma"}))
@pytest.mark.parametrize("between", ["", "\n"])
def test_calls_quoted_in_a_string_are_part_of_it(name: str, between: str) -> None:
    """A text about calls is written to a file, and none of them is executed."""
    write = FORMATS[name].write
    quoted = between.join(("see", write([("f", {"a": "1"})]), write([("g", {})]), "there"))
    written = [("write_file", {"path": "x", "content": quoted})]

    found = read_every_way(FORMATS[name].write(written))

    assert calls(found) == written


@pytest.mark.parametrize(
    ("name", "tag"),
    [
        ("qwen_xml", "<function=f>"),
        ("seed_oss", "<function=f>"),
        ("invoke", '<invoke name="f">'),
        ("dsml", '<｜DSML｜invoke name="f">'),
        ("kimi_k3", '<|open|>call tool="f"<|sep|>'),
        ("step3", '<steptml:invoke name="f">'),
        ("minicpm5", '<function name="f">'),
        ("atem", '<atem:invoke name="f">'),
        ("glm_47", "<tool_call>"),
        ("hunyuan3", "<tool_call:opensource>"),
        ("solar_open2", "<|tool_call:start|>"),
        ("minimax_m3", f'{P}<invoke name="f">'),
    ],
)
def test_value_may_speak_of_an_opening_tag_and_quote_a_call_as_well(name: str, tag: str) -> None:
    """The tag that is spoken of has no end, and the quoted call keeps its own."""
    write = FORMATS[name].write
    example = write([("f", {"a": "1"}), ("g", {})])
    texts = (f"see {tag} there: {example} or so", f"see {example} or {tag} there")
    written = [("write_file", {"path": "x", "content": text}) for text in texts]

    assert calls(read_every_way(write(written))) == written


STRING = ToolSpec("f", "", {"type": "object", "properties": {"a": {"type": "string"}}})


@pytest.mark.parametrize(
    "value",
    [
        f"{P}<b>x{P}</b>",
        f"one{P}</x>{P}<b>two{P}</b>",
        f"one{P}<b>two{P}</x>{P}</b>",
    ],
)
def test_m3_tags_in_a_declared_string_are_part_of_it(value: str) -> None:
    """A string is what was written, never JSON that was made of its tags, and loses none."""
    [call] = read_text_answer([FORMATS["minimax_m3"].write([("f", {"a": value})])], [STRING]).calls

    assert call.input == {"a": value}


def test_m3_opening_tag_of_a_string_written_twice_counts_once() -> None:
    """Nothing but white space stands between the two, and the first is never closed."""
    text = f'{P}<invoke name="f">{P}<a>{P}<a>1{P}</a>{P}</invoke>\n{P}</tool_call>'

    [call] = read_text_answer([text], [STRING]).calls

    assert call.input == {"a": "1"}
