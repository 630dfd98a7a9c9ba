"""Which agent sent a request, by its User-Agent."""

from __future__ import annotations

import re

_KNOWN = (
    ("claude-cli", "Claude Code"),
    ("codex", "Codex"),
    ("geminicli", "Gemini CLI"),
    ("qwencode", "Qwen Code"),
    ("opencode", "opencode"),
    ("cline", "Cline"),
    ("copilot", "Copilot"),
    ("continue", "Continue"),
    ("aider", "aider"),
)
_PRODUCT = re.compile(r"[A-Za-z0-9_.-]{1,40}")


def agent_name(user_agent: str) -> str:
    """The name of an agent, else the product that its User-Agent names first; "" without one."""
    lowered = user_agent.lower()
    for word, name in _KNOWN:
        if word in lowered:
            return name
    product = _PRODUCT.match(user_agent)
    return product[0] if product else ""
