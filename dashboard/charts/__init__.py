"""Metrics, latency, tokens and cost of an endpoint over time, with annotations and notes."""
