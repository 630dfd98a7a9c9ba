"""Endpoints as code: reads, plans and writes a YAML file of endpoints."""
