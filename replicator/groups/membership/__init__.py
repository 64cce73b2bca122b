"""Consumer groups: where each lives, where it is active, and its offsets in a cluster."""
