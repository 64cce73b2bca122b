"""Probe of the tables of a shard: parts, deduplication windows, rates of blocks. Blocking."""

from __future__ import annotations

from clickhouse_driver import Client

from aggregator.store.schema_reader import TableFacts, read_tables
from replicator.clickhouse.server import ClickHouse
from tui.facts.feed_status import TableState

LOOK_BACK_SECONDS = 60
"""Time over which the rate of blocks is taken. Replaced parts stay visible for eight minutes."""
# A partition of a table numbers its blocks, and the name of a part has the numbers of the blocks
# that were merged into it. A part that was changed earlier holds no later block.
PARTS = """
SELECT table, max(active_parts), sum(blocks) FROM (
    SELECT table, partition, sum(active) AS active_parts,
        max(max_block_number)
            - maxIf(max_block_number, modification_time < now() - %(seconds)s) AS blocks
    FROM system.parts WHERE database = %(database)s GROUP BY table, partition
) GROUP BY table
"""


def table_states(server: ClickHouse) -> dict[str, TableState]:
    """Returns the tables of a replica. Raises StoreUnreachable."""
    with server.connected() as client:
        return read_states(client, server.address.database)


def read_states(client: Client, database: str) -> dict[str, TableState]:
    """Returns the state of each table of a database. Raises the errors of the driver."""
    asked = {"database": database, "seconds": LOOK_BACK_SECONDS}
    counts = {table: (parts, blocks) for table, parts, blocks in client.execute(PARTS, asked)}
    return {
        name: _state(facts, *counts.get(name, (0, 0)))
        for name, facts in read_tables(client, database).items()
        if not facts.kind.is_view
    }


def _state(facts: TableFacts, parts: int, blocks: int) -> TableState:
    return TableState(
        parts=parts,
        window_blocks=facts.schema.deduplication_window,
        window_seconds_max=facts.window_seconds,
        blocks_per_second=max(0, blocks) / LOOK_BACK_SECONDS,
        has_coordinates=facts.schema.has_coordinates,
    )
