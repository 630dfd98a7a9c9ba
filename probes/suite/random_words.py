"""Words that values are drawn from, so that no vendor can know them in advance."""

from __future__ import annotations

import random

# fmt: off
WORDS = (
    "amber", "anchor", "basil", "canyon", "cedar", "cobalt", "comet", "copper", "delta", "ember",
    "fable", "fjord", "garnet", "harbor", "indigo", "juniper", "kettle", "lantern", "maple",
    "marble", "meadow", "nectar", "orchid", "pebble",
)
# fmt: on


def draw_phrase(rng: random.Random, words: int = 2) -> str:
    """Some words and a number."""
    return f"{' '.join(rng.sample(WORDS, words))} {rng.randrange(1000, 10_000)}"


def draw_fragile_text(rng: random.Random) -> str:
    """Some words, with what proxies damage: spaces that they collapse, signs that they escape."""
    first, second, third = rng.sample(WORDS, 3)
    return f"{first}  {second} & <{third}> {rng.randrange(1000, 10_000)}"


def draw_nonce(rng: random.Random) -> str:
    """A word that a model can only know from the conversation."""
    return f"{rng.choice(WORDS)}-{rng.randrange(10**6, 10**7)}"
