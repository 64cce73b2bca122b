"""Insert token on a modern ClickHouse: a block that is sent twice is stored once.

ClickHouse runs in process (chdb). The blocks go through a shard store and its insertion, with the
token, the settings and the bytes that they make. Prints a line for each claim; the exit status is 1
if one does not hold.

.venv/bin/python -m bench.insert_token
"""

from __future__ import annotations

import json
import os
import re
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib import import_module
from io import BytesIO
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pyarrow as pa
from clickhouse_driver import Client
from clickhouse_driver.util.escape import escape_params

from aggregator.store.block_name import BlockName
from aggregator.store.outgoing_block import BlockRows, OutgoingBlock
from aggregator.store.recognition import Identities
from aggregator.store.replica import Connected, Replica
from aggregator.store.server_features import TOKEN, read_features
from aggregator.store.shard_store import ShardStore, StoreTimeouts
from aggregator.tables.decoded import Decoded
from aggregator.tables.table_schema import TableSchema
from replicator.config.feed_settings import Shard

DATABASE = "tokens"
COLUMNS = (
    "text String, _cluster String, _topic String, _partition UInt32, _offset UInt64, _row UInt32"
)
ROWS = 1000
INSERT = re.compile(r"INSERT INTO (?P<table>\S+) \((?P<columns>.*)\) VALUES")


@dataclass(frozen=True, slots=True)
class Sent:
    """Block as it is sent: offsets begin..begin+ROWS-1 of a partition.

    Args:
        end: of the block's name, by which the token differs.
        text: of each row, by which the bytes differ.
    """

    end: int = ROWS
    text: str = "as intended"


@dataclass(frozen=True, slots=True)
class Claim:
    """Blocks that are sent one after another, and what the table holds in the end."""

    text: str
    sent: Sequence[Sent]
    texts: Mapping[str, int]
    """Number of rows by their text."""
    window: int = 1000
    partition_by: str = "tuple()"
    has_token: bool = True


ONE = Sent()
OTHER_BYTES = replace(ONE, text="formed again")
OTHER_NAME = replace(ONE, end=ROWS + 1)
CLAIMS = (
    Claim("a block sent twice is stored once", [ONE, ONE], {ONE.text: ROWS}),
    Claim(
        "the first one stays if the second has other bytes",
        [ONE, OTHER_BYTES, ONE],
        {ONE.text: ROWS},
    ),
    Claim("equal rows of a block of another name are stored", [ONE, OTHER_NAME], {ONE.text: 2000}),
    Claim(
        "a block of several table partitions sent twice is stored once",
        [ONE, OTHER_BYTES],
        {ONE.text: ROWS},
        partition_by="_offset % 4",
    ),
    Claim(
        "without the token other bytes are stored beside the first ones",
        [ONE, ONE, OTHER_BYTES],
        {ONE.text: ROWS, OTHER_BYTES.text: ROWS},
        has_token=False,
    ),
    Claim(
        "a table without a window stores whatever is sent",
        [ONE, ONE],
        {ONE.text: 2000},
        window=0,
    ),
)


class InProcessClient:
    """Client of chdb with the methods of clickhouse-driver's that reads and inserts use.

    The data of an insert are kept until it ends, and then executed as one query: chdb has no
    socket. Their bytes are those of the format Native.
    """

    def __init__(self, session: Any, folder: Path) -> None:
        self._session, self._file = session, folder / "block.native"
        self._query, self._settings = "", dict[str, int | str]()
        [(version,)] = self.execute("SELECT version()")
        info = SimpleNamespace(
            version_tuple=lambda: tuple(map(int, version.split(".")[:3])),
            get_timezone=lambda: "UTC",
            used_revision=0,
        )
        self.connection = SimpleNamespace(
            server_info=info,
            context=SimpleNamespace(server_info=info),
            socket=SimpleNamespace(settimeout=lambda seconds: None),
            send_query=self._begin,
            send_external_tables=lambda tables: None,
            fout=BytesIO(),
            block_out=SimpleNamespace(fout=BytesIO(), finalize=self._ended),
        )

    def execute(self, query: str, parameters: Mapping[str, object] | None = None) -> Any:
        if parameters:
            query %= escape_params(parameters, self.connection.context)
        answer = str(self._session.query(query, "JSONCompact")) or "{}"
        return [tuple(row) for row in json.loads(answer).get("data", ())]

    @contextmanager
    def disconnect_on_error(self, query: str, settings: dict[str, int | str]) -> Iterator[None]:
        self._settings = settings
        yield

    def receive_sample_block(self) -> Any:
        insert = INSERT.fullmatch(self._query)
        assert insert
        described = self.execute(f"DESCRIBE (SELECT {insert['columns']} FROM {insert['table']})")
        return SimpleNamespace(columns_with_types=[row[:2] for row in described])

    def receive_profile_events(self) -> None:
        pass

    def receive_end_of_insert_query(self) -> None:
        settings = ", ".join(f"{name} = {value!r}" for name, value in self._settings.items())
        into = self._query.removesuffix("VALUES")
        self.execute(f"{into} FROM INFILE '{self._file}' SETTINGS {settings} FORMAT Native")

    def disconnect(self) -> None:
        pass

    def _begin(self, query: str, query_id: str) -> None:
        self._query = query

    def _ended(self) -> None:
        """Keeps the bytes of a block; the empty one, which ends the data, is none."""
        data = self.connection.block_out.fout.getvalue()
        self.connection.block_out.fout = BytesIO()
        if data != bytes(2):
            self._file.write_bytes(data)


class InProcessReplica:
    """Replica of a shard store whose server is in this process."""

    def __init__(self, client: InProcessClient) -> None:
        self.client = cast(Client, client)
        self.features = read_features(self.client)

    @contextmanager
    def connected(self) -> Iterator[Connected]:
        yield Connected(self.client, self.features)

    def forget_token(self) -> None:
        """Makes insertion leave the token out, as for a server that does not know it."""
        settings = self.features.settings - {TOKEN}
        self.features = replace(self.features, settings=settings)


def store_of(replica: InProcessReplica) -> ShardStore:
    """Returns a shard store with one replica, in this process."""
    described = {"topics": ("t",), "database": DATABASE, "replicas": ("clickhouse://unused:1",)}
    shard = Shard.model_validate(described)
    store = ShardStore(shard, StoreTimeouts(insert=10.0), feed="flights", kept=1)
    store.replicas = (cast(Replica, replica),)
    return store


def block_of(schema: TableSchema, sent: Sent) -> OutgoingBlock:
    rows = Decoded(
        {"text": pa.array([sent.text.encode()] * ROWS, pa.large_binary())},
        np.arange(ROWS),
        np.zeros(ROWS, np.int64),
        np.arange(ROWS),
    )
    cluster, topic, partition = "west regional", "flights", 0
    whole = BlockRows(rows, schema, cluster, topic, partition)
    return OutgoingBlock(
        name=BlockName("flights", cluster, topic, partition, schema.table, 0, sent.end),
        rows=whole,
        native=whole.native(),
        identities=Identities(rows.offset, rows.row),
        has_coordinates=True,
        is_as_intended=True,
        sealed_at_ms=time.time_ns() // 1_000_000,
        moment=None,
    )


def stored(client: InProcessClient, claim: Claim, table: str) -> dict[str, int]:
    """Sends the blocks of a claim into a new table; returns its number of rows by their text."""
    client.execute(
        f"CREATE TABLE {DATABASE}.{table} ({COLUMNS}) ENGINE = MergeTree ORDER BY _offset "
        f"PARTITION BY {claim.partition_by} "
        f"SETTINGS non_replicated_deduplication_window = {claim.window}"
    )
    replica = InProcessReplica(client)
    if not claim.has_token:
        replica.forget_token()
    store = store_of(replica)
    schema = store.schemas()[table]
    for sent in claim.sent:
        block = block_of(schema, sent)
        store.insert(block, block.native)
    found = client.execute(f"SELECT text, toUInt32(count()) FROM {DATABASE}.{table} GROUP BY text")
    return dict(found)


def main() -> int:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        os.chdir(folder)  # a config.xml of the current folder would be read
        # The type checker of `make check` does without the rivals' libraries.
        session: Any = import_module("chdb.session").Session(str(folder / "data"))
        session.query(f"CREATE DATABASE {DATABASE} ENGINE = Atomic")
        client = InProcessClient(session, folder)
        print(f"ClickHouse {client.execute('SELECT version()')[0][0]}, engine MergeTree")
        failed = 0
        for number, claim in enumerate(CLAIMS):
            found = stored(client, claim, f"claim_{number}")
            failed += found != claim.texts
            print("holds" if found == claim.texts else "FAILS", claim.text, found, sep="   ")
        session.close()
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
