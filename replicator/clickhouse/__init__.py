"""ClickHouse as a store: connections to a server, and remedies for their errors."""
