"""Faults that need programs beside ours: a wrong clock, a pooler, a network that is cut."""
