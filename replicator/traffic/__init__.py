"""What the partitions of a source cluster take in, seen from outside, and the history of that."""
