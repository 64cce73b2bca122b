"""Tables of ClickHouse as values: schemas, decoded rows, native blocks."""
