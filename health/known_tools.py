"""Tools of well-known agents, each classified by the most harmful thing that it can do.

The list contains only names that are certain; every other tool is dangerous until an operator
classifies it. Web search is a read; fetching a URL that the model chose is dangerous, because the
URL can carry data outside. A subagent, a skill or another server is dangerous, because its name
does not show what its tools do.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from health.risk import Risk, RiskRule
from health.translation import mark

# Changes with the list, so that a caller knows which list a policy was made with.
VERSION = "v1"

_FETCHES = mark("Fetches an address that the model chose, which can carry anything outside.")
_STARTS = mark("Does whatever the tools of what it starts do.")
_SERVES = mark("Class the tools that you trust by name.")

# Per agent: tools that read, that write, and that are dangerous.
_TOOLS: Mapping[str, tuple[str, str, str]] = {
    "Claude Code": (
        "Read Grep Glob LS LSP NotebookRead WebSearch TodoRead TodoWrite AskUserQuestion"
        " EnterPlanMode ExitPlanMode BashOutput TaskOutput ListMcpResourcesTool"
        " ReadMcpResourceTool ToolSearch",
        "Edit MultiEdit Write NotebookEdit",
        "Bash PowerShell KillShell KillBash TaskStop WebFetch Task Agent Skill SlashCommand",
    ),
    "Claude API": (
        "web_search",
        "str_replace_editor str_replace_based_edit_tool memory",
        "bash computer code_execution bash_code_execution web_fetch",
    ),
    "Codex": (
        "read_file list_dir grep_files view_image update_plan web_search list_mcp_resources"
        " list_mcp_resource_templates read_mcp_resource",
        "apply_patch",
        "shell local_shell shell_command container.exec exec_command write_stdin",
    ),
    "Cline and Roo Code": (
        "read_file list_files search_files list_code_definition_names codebase_search"
        " ask_followup_question attempt_completion plan_mode_respond access_mcp_resource"
        " fetch_instructions update_todo_list load_mcp_documentation",
        "write_to_file replace_in_file apply_diff insert_content search_and_replace",
        "execute_command browser_action use_mcp_tool new_task web_fetch run_slash_command",
    ),
    "Gemini CLI and Qwen Code": (
        "list_directory read_file read_many_files glob search_file_content grep_search"
        " google_web_search web_search write_todos todo_write exit_plan_mode",
        "write_file replace edit save_memory",
        "run_shell_command web_fetch task skill",
    ),
    "opencode": (
        "read list grep glob lsp codesearch websearch todoread todowrite question",
        "edit multiedit write patch apply_patch",
        "bash webfetch task skill batch",
    ),
    "Cursor": (
        "codebase_search read_file list_dir grep_search file_search web_search fetch_rules"
        " diff_history todo_write",
        "edit_file search_replace reapply edit_notebook",
        "run_terminal_cmd delete_file",
    ),
    "GitHub Copilot": (
        "semantic_search grep_search file_search read_file list_dir get_errors"
        " get_changed_files get_terminal_output list_code_usages manage_todo_list",
        "create_file create_directory insert_edit_into_file replace_string_in_file"
        " multi_replace_string_in_file apply_patch edit_notebook_file",
        "run_in_terminal run_task fetch_webpage runSubagent run_notebook_cell",
    ),
    "OpenHands": (
        "think finish task_tracker",
        "str_replace_editor file_editor edit_file",
        "execute_bash terminal execute_ipython_cell browser web_read",
    ),
    "goose": (
        "developer__list_windows developer__screen_capture",
        "developer__text_editor",
        "developer__shell computercontroller__*",
    ),
    # The tool names of a server do not show what the tools do.
    "MCP servers": ("", "", "mcp__* mcp_*"),
}
_NOTES: Mapping[str, str] = {
    "apply_patch": mark("A patch can also delete files."),
    "attempt_completion": mark("The command that it may show is run only if a person allows it."),
    **dict.fromkeys(
        ("WebFetch", "webfetch", "web_fetch", "fetch_webpage", "web_read", "browser_action"),
        _FETCHES,
    ),
    **dict.fromkeys(
        ("Task", "task", "Agent", "Skill", "skill", "SlashCommand", "new_task", "runSubagent"),
        _STARTS,
    ),
    **dict.fromkeys(("mcp__*", "mcp_*", "use_mcp_tool"), _SERVES),
}


def _rules(agent: str, columns: tuple[str, str, str]) -> tuple[RiskRule, ...]:
    return tuple(
        RiskRule(pattern, risk, _NOTES.get(pattern, ""), agent)
        for risk, patterns in zip(Risk, columns, strict=True)
        for pattern in patterns.split()
    )


KNOWN: Mapping[str, tuple[RiskRule, ...]] = MappingProxyType(
    {agent: _rules(agent, columns) for agent, columns in _TOOLS.items()}
)
DEFAULTS = tuple(rule for rules in KNOWN.values() for rule in rules)
