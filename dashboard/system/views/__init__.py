"""The system pages, health checks and metrics."""
