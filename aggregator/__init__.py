"""Aggregator: topics into ClickHouse and S3, exactly once."""
