"""ClickHouse as a store: what its errors mean for the caller."""
