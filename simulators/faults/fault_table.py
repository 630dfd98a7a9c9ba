"""The faults and the stories as Markdown tables."""

from __future__ import annotations

from simulators.faults.fault import EVERY_FORMAT, Fault
from simulators.faults.fault_registry import FAULTS
from simulators.stories import STORIES, Story

FAULT_HEAD = "| fault | row | what a client sees | wire formats | value |"
STORY_HEAD = "| story | what happens | vendor and model | switches |"


def fault_table() -> str:
    """One row per fault."""
    return _table(FAULT_HEAD, [_fault_row(fault) for fault in FAULTS.values()])


def story_table() -> str:
    """One row per story."""
    return _table(STORY_HEAD, [_story_row(story) for story in STORIES.values()])


def _table(head: str, rows: list[str]) -> str:
    return "\n".join([head, "|" + "---|" * (head.count("|") - 1), *rows])


def _fault_row(fault: Fault) -> str:
    formats = "all" if fault.formats == EVERY_FORMAT else ", ".join(sorted(fault.formats))
    symptom = fault.symptom.replace("|", "\\|").replace("<", "&lt;")
    return f"| `{fault.name}` | {fault.row} | {symptom} | {formats} | {fault.value} |"


def _story_row(story: Story) -> str:
    switches = f"`{story.switches}`" if story.switches else "none"
    return (
        f"| `{story.name}` | {story.description} | `{story.vendor}`, `{story.model}` | {switches} |"
    )
