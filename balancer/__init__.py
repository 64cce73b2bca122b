"""Balancing decisions: which carrier carries which partitions. Uses no Kafka, Spark or clock."""
