"""Words of a command for the people before a terminal; what an endpoint said in them is inert."""

from __future__ import annotations

import os
import sys
import unicodedata
from io import TextIOWrapper

# Characters that a terminal acts on, or that turn the direction of what follows.
_ACTING = ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp")


def print_message(text: str) -> None:
    """One message on standard error."""
    print(safe_text(text), file=sys.stderr)


def print_result(text: str) -> None:
    """The result of a command on standard output; nothing where its reader has left."""
    if isinstance(sys.stdout, TextIOWrapper):
        # A name in a script that the terminal's encoding lacks must not end the command.
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        print(text, flush=True)
    except BrokenPipeError:
        # As `head` does. Nothing may be left to flush at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def safe_text(text: str) -> str:
    """The text without anything that a terminal or page could take for an instruction."""
    return "".join(
        "\ufffd" if unicodedata.category(char) in _ACTING and char not in "\n\t" else char
        for char in text
    )
