from __future__ import annotations

from hypothesis import settings

# How long one example takes says something about the machine, not about the code.
# Seeds differ from run to run, so that few examples each become many.
settings.register_profile("toolgauge", deadline=None, max_examples=25)
settings.load_profile("toolgauge")
