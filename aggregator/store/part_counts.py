"""Part counts: how many parts a table has, which merges have to keep low."""

from __future__ import annotations

from clickhouse_driver import Client

MOST = """
SELECT max(parts) FROM (
    SELECT count() AS parts FROM system.parts
    WHERE database = %(database)s AND table = %(table)s AND active GROUP BY partition_id
)
"""


def most_parts(client: Client, database: str, table: str) -> int:
    """Returns the number of parts in the partition that has most.

    Raises the errors of the driver and of the socket.
    """
    [(parts,)] = client.execute(MOST, {"database": database, "table": table})
    return int(parts)
