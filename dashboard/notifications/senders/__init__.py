"""Senders of notices: webhooks and Apprise."""
