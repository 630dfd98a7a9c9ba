from __future__ import annotations

from hypothesis import settings

# The time of one example depends on the machine, not on the code.
# Seeds differ from run to run, so that few examples per run add up.
settings.register_profile("toolgauge", deadline=None, max_examples=25)
settings.load_profile("toolgauge")
