"""A conversation of two user turns, the first with a call and its result."""

from __future__ import annotations

import random

from probes.suite.base import Drawn
from probes.suite.random_words import nonce, phrase
from probes.suite.tools import TAGS

PROMPT = """\
Call the tool {tool} once, with a = {a} and b = {b}. Its result holds a nonce.
When you have it, reply with the nonce, in words and without a tool."""
NEXT = """\
Now call the tool {tool} once, with these arguments:
message: {message}
tag: {tag}"""


def draw(rng: random.Random) -> Drawn:
    """The values of both turns."""
    return Drawn(
        {
            "a": rng.randrange(2, 1000),
            "b": rng.randrange(2, 1000),
            "nonce": nonce(rng),
            "message": phrase(rng),
            "tag": rng.choice(TAGS),
        }
    )
