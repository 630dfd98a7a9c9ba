"""The system pages, metrics, retention and the doctor."""
