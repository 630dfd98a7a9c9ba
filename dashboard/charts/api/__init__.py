"""API operations for metrics and notes."""
