"""Whether a window of time holds the same records at both ends of a route."""
