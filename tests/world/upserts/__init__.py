"""Upsert tables of a world: keepers between Kafka in memory and a model of ClickHouse."""
