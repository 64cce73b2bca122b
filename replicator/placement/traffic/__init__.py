"""Traffic of a source cluster's partitions, measured from outside, and its history."""
