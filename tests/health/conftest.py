from __future__ import annotations

from hypothesis import settings

# Correctness is checked here, never speed: the machine may be busy.
settings.register_profile("toolgauge", deadline=None)
settings.load_profile("toolgauge")
