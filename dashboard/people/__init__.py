"""People, roles, teams, invitations and API tokens."""
