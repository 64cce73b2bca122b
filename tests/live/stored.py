"""Blocks for tests of the store, and the store of a database in the lab."""

from __future__ import annotations

import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from aggregator.store.block_name import BlockName
from aggregator.store.outgoing_block import BlockRows, OutgoingBlock
from aggregator.store.recognition import Identities
from aggregator.store.shard_store import ShardStore, StoreTimeouts
from aggregator.tables.decoded import Decoded
from aggregator.tables.table_schema import TableSchema
from deploy.lab.credentials import PASSWORD
from replicator.config.feed_settings import Shard

COORDINATES = "_cluster String, _topic String, _partition UInt32, _offset UInt64, _row UInt32"
COLUMNS = f"day UInt8, text String, number Nullable(Int64), {COORDINATES}"
SOURCE = {"cluster": "west regional", "topic": "flights", "partition": 3}


def store_of(
    addresses: Iterable[str],
    database: str,
    directory: Path,
    *,
    quorum: int = 0,
    insert_seconds: float = 5.0,
    away_seconds: float = 1.0,
) -> ShardStore:
    """Returns the store of a shard; its password is written to a file in the directory."""
    password_file = directory / "clickhouse-password"
    password_file.write_text(PASSWORD)
    settings: dict[str, Any] = {
        "topics": ("flights",),
        "database": database,
        "replicas": tuple(addresses),
        "password_file": password_file,
        "quorum": quorum,
    }
    timeouts = StoreTimeouts(insert=insert_seconds, away=away_seconds)
    return ShardStore(Shard.model_validate(settings), timeouts, feed="flights", kept=2)


def decoded(offsets: Iterable[int], *, days: int = 1, text: str = "text") -> Decoded:
    """Returns a row for each offset."""
    offset = np.array(list(offsets), np.int64)
    values = offset.tolist()
    columns = {
        "day": pa.array([value % days for value in values], pa.uint8()),
        "text": pa.array([f"{text} {value}".encode() for value in values], pa.large_binary()),
        "number": pa.array([value if value % 2 else None for value in values], pa.int64()),
    }
    return Decoded(columns, offset, np.zeros(len(offset), np.int64), offset)


def block_of(
    schema: TableSchema,
    rows: Decoded,
    *,
    begin: int | None = None,
    end: int | None = None,
    is_as_intended: bool = True,
    sealed_at_ms: int | None = None,
) -> OutgoingBlock:
    """Returns a block that was sealed just now."""
    offsets, of_source = rows.offset, BlockRows(rows, schema, **SOURCE)
    return OutgoingBlock(
        name=BlockName(
            "flights",
            "west regional",
            "flights",
            3,
            schema.table,
            int(offsets[0]) if begin is None else begin,
            int(offsets[-1]) + 1 if end is None else end,
        ),
        rows=of_source,
        native=of_source.native(),
        identities=Identities(rows.offset, rows.row),
        has_coordinates=schema.has_coordinates,
        is_as_intended=is_as_intended,
        sealed_at_ms=time.time_ns() // 1_000_000 if sealed_at_ms is None else sealed_at_ms,
        moment=None,
    )
