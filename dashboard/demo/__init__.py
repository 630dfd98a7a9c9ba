"""The simulated fleet: its endpoints, history and player."""
