from __future__ import annotations

import pytest

from probes.leaks import find_leak

CALL = '{"name": "probe_echo", "arguments": {"tag": "beta"}}'


@pytest.mark.parametrize(
    ("text", "markup"),
    [
        (f"<tool_call>\n{CALL}\n</tool_call>", "<tool_call>"),
        (f"Sure, here it is:\n  <tool_call>{CALL}", "<tool_call>"),
        (f"[TOOL_CALLS][{CALL}]", "[TOOL_CALLS]"),
        ('<｜DSML｜tool_calls>\n<｜DSML｜invoke name="probe_echo">', "<｜DSML｜"),
        (f"```json\n{CALL}\n```", "JSON"),
        ('<invoke name="probe_echo">', "<invoke "),
    ],
)
def test_a_call_written_as_text_is_found(text: str, markup: str) -> None:
    """Markup at the start of a line that names a declared tool is a leak."""
    assert find_leak(text, ["probe_echo"]) == markup


@pytest.mark.parametrize(
    "text",
    [
        "",
        "I called probe_echo for you.",
        "Models write <tool_call> before probe_echo.",
        "<tool_call> is how some models open a call.",
        '<tool_call>{"name": "other_tool"}</tool_call>',
        '{"result": "probe_echo"}',
    ],
)
def test_prose_about_a_call_is_prose(text: str) -> None:
    """A tag in a sentence, or a tool that was not offered, is no leak."""
    assert find_leak(text, ["probe_echo"]) is None
