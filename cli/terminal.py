"""Output of commands to a terminal; text of endpoints in it is made safe."""

from __future__ import annotations

import os
import sys
import unicodedata
from io import TextIOWrapper

# Characters that control a terminal or change the text direction.
_UNSAFE_CATEGORIES = ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp")


def print_message(text: str) -> None:
    print(safe_text(text), file=sys.stderr)


def print_result(text: str) -> None:
    """Print the result of a command to standard output; nothing if its reader has closed it."""
    if isinstance(sys.stdout, TextIOWrapper):
        # Characters that the terminal's encoding lacks must not end the command.
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        print(text, flush=True)
    except BrokenPipeError:
        # As `head` does. Nothing may flush at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def safe_text(text: str) -> str:
    """The text without characters that a terminal or page could interpret."""
    return "".join(
        "\ufffd"
        if unicodedata.category(char) in _UNSAFE_CATEGORIES and char not in "\n\t"
        else char
        for char in text
    )
