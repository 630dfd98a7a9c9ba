"""A conversation of two user turns, the first with a call and its result."""

from __future__ import annotations

import random

from probes.suite.base import DrawnValues
from probes.suite.probe_tools import TAGS
from probes.suite.random_words import draw_nonce, draw_phrase

PROMPT = """\
Call the tool {tool} once, with a = {a} and b = {b}. Its result holds a nonce.
When you have it, reply with it exactly as it is, without a tool."""
NEXT = """\
Now call the tool {tool} once, with these arguments:
message: {message}
tag: {tag}"""


def draw_values(rng: random.Random) -> DrawnValues:
    """The values of both turns."""
    return DrawnValues(
        {
            "a": rng.randrange(2, 1000),
            "b": rng.randrange(2, 1000),
            "nonce": draw_nonce(rng),
            "message": draw_phrase(rng),
            "tag": rng.choice(TAGS),
        }
    )
