"""Store: ClickHouse servers of a shard: schemas, inserts, and which rows are there."""
