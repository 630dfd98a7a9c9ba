"""Faults that need other programs: a wrong clock, a pooler, a network that is cut."""
