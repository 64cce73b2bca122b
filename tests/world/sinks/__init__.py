"""Sinks of a world: loaders of a feed between Kafka in memory and a model of ClickHouse."""
