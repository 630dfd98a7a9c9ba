"""Writes to people, roles, teams, invitations and tokens."""
