"""What the partitions of a source cluster take in, seen from outside, and its history in Redis."""
