"""Decides which carrier carries which partitions. Knows no Kafka, no Spark, no clock."""
