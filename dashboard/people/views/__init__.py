"""Pages of people, teams, invitations and tokens."""
