"""Notification channels, deliveries and maintenance windows."""
