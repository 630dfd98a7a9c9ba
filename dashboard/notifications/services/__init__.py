"""Writes to channels, deliveries, the outbox and maintenance windows."""
