"""The audit log: entries, their hash chain, export and pages."""
