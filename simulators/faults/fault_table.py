"""The faults and the stories as tables for people."""

from __future__ import annotations

from simulators.faults.fault import EVERY_FORMAT, Fault
from simulators.faults.registry import FAULTS
from simulators.stories import STORIES, Story

FAULT_HEAD = "| fault | row | what a client sees | wire formats | value |"
STORY_HEAD = "| story | what happens | vendor and model | switches |"


def fault_table() -> str:
    """One row for each fault, in Markdown."""
    return _table(FAULT_HEAD, [_fault(fault) for fault in FAULTS.values()])


def story_table() -> str:
    """One row for each story, in Markdown."""
    return _table(STORY_HEAD, [_story(story) for story in STORIES.values()])


def _table(head: str, rows: list[str]) -> str:
    return "\n".join([head, "|" + "---|" * (head.count("|") - 1), *rows])


def _fault(fault: Fault) -> str:
    formats = "all" if fault.formats == EVERY_FORMAT else ", ".join(sorted(fault.formats))
    shows = fault.shows.replace("|", "\\|").replace("<", "&lt;")
    return f"| `{fault.name}` | {fault.row} | {shows} | {formats} | {fault.value} |"


def _story(story: Story) -> str:
    switches = f"`{story.switches}`" if story.switches else "none"
    return (
        f"| `{story.name}` | {story.description} | `{story.vendor}`, `{story.model}` | {switches} |"
    )
