"""Template tags and filters, one library per room."""
