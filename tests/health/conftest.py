from __future__ import annotations

from hypothesis import settings

# These tests check correctness, never speed: the machine may be busy.
# Seeds differ from run to run, so that few examples per run add up.
settings.register_profile("toolgauge", deadline=None, max_examples=25)
settings.load_profile("toolgauge")
