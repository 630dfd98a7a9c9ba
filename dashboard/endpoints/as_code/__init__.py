"""Endpoints as a YAML file: read, compared with what is registered, written."""
