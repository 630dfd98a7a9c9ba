"""The overview of all endpoints: status, metrics, open incidents and pending decisions."""
