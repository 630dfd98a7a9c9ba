"""Writes of the simulated fleet: its endpoints and their history."""
