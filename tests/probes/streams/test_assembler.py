from __future__ import annotations

from probes.events import PartDelta, PartEnded, PartKind, PartStarted, ReplyEnded, ReplyStarted
from probes.messages import BrokenCall, Reasoning, ReasoningKind, Reply, Stop, Text, ToolCall
from probes.streams.assembler import Assembler, reply_events


def test_parts_keep_the_order_in_which_they_began() -> None:
    """Parallel parts may end in any order; their numbers follow their starts."""
    assembler = Assembler()
    assembler.start("a", PartKind.TEXT)
    assembler.start("b", PartKind.CALL, id="c1", name="f")
    assembler.extend("b", "{}")
    assembler.extend("a", "hi")
    call, text = ToolCall("c1", "f", {}, "openai", "{}"), Text("hi")
    assembler.finish("b", call)
    assembler.finish("a", text)

    assert assembler.parts == (text, call)
    assert assembler.take_events() == [
        ReplyStarted(),
        PartStarted(0, PartKind.TEXT),
        PartStarted(1, PartKind.CALL, "c1", "f"),
        PartDelta(1, "{}"),
        PartDelta(0, "hi"),
        PartEnded(1, call),
        PartEnded(0, text),
    ]
    assert assembler.take_events() == []


def test_a_part_starts_once_and_ends_once() -> None:
    """Repeated starts and data after the end change nothing."""
    assembler = Assembler()
    assembler.add("a", Text("x"))

    assert not assembler.start("a", PartKind.TEXT)
    assembler.extend("a", "more")
    assembler.finish("a", Text("other"))
    assembler.extend("unknown", "text")

    assert assembler.parts == (Text("x"),)
    assert not assembler.is_open("a")


def test_only_the_first_end_of_a_reply_counts() -> None:
    """There is exactly one ReplyEnded, whatever the stream does."""
    assembler = Assembler()
    first = Reply((), Stop.END)
    assembler.end(first)
    assembler.end(Reply((), Stop.ERROR))

    assert assembler.take_events() == [ReplyStarted(), ReplyEnded(first)]


def test_parts_and_text_are_bounded_and_say_so() -> None:
    """A hostile stream cannot fill memory, and drops are noted."""
    assembler = Assembler(max_parts=2, max_text=5)
    for key in range(3):
        assembler.start(key, PartKind.TEXT)
        assembler.extend(key, "1234")

    assert assembler.text(0) == "1234"
    assert assembler.text(1) == ""
    assert assembler.is_cut(1)
    assert not assembler.is_cut(0)
    assert [note.name for note in assembler.deviations] == ["too_large", "too_many_parts"]


def test_a_whole_reply_is_replayed_as_the_stream_it_could_have_been() -> None:
    """Each part starts, grows and ends; a repaired call is written as its input."""
    repaired = ToolCall("c1", "f", {"a": 1}, "hermes", "{'a': 1}", repairs=("python_literal",))
    broken = BrokenCall("{", "cut", name="g", id="c2")
    thought = Reasoning("Hm.", ReasoningKind.FIELD, "reasoning_content")
    reply = Reply((thought, repaired, broken), Stop.TOOL_CALLS, id="r", model="m")

    assert reply_events(reply) == [
        ReplyStarted("r", "m"),
        PartStarted(0, PartKind.REASONING, name="reasoning_content"),
        PartDelta(0, "Hm."),
        PartEnded(0, thought),
        PartStarted(1, PartKind.CALL, "c1", "f"),
        PartDelta(1, '{"a": 1}'),
        PartEnded(1, repaired),
        PartStarted(2, PartKind.CALL, "c2", "g"),
        PartDelta(2, "{"),
        PartEnded(2, broken),
        ReplyEnded(reply),
    ]
