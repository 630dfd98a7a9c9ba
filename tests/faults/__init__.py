"""Tests with real processes, servers and networks that are broken on purpose."""
