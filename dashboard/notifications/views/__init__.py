"""Pages of channels, deliveries and maintenance windows."""
