"""Pages and parts of charts and notes."""
