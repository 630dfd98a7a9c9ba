"""API of people, teams and tokens."""
