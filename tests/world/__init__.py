"""Kafka clusters in memory, in which the mirror runs on virtual time, decided by one seed."""
