from __future__ import annotations

from hypothesis import settings

# How long one example takes says something about the machine, not about the code.
settings.register_profile("toolgauge", deadline=None)
settings.load_profile("toolgauge")
