"""Two ways of JSON into ClickHouse: CPU of loader and server, seconds per million records.

    python -m bench.json_ways [blocks]

"native": documents are parsed here and sent as native blocks, as `sluice aggregate` does. "json":
they are checked here, get their coordinates spliced in, and are parsed by the server. Both begin
with the same fetched batches (see json_decoding) and end with the same rows; the ways take turns.
"""

from __future__ import annotations

import random
import shutil
import sys
import time
import urllib.request
from collections.abc import Callable
from urllib.parse import quote

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from aggregator.formats.byte_columns import taken
from aggregator.formats.json_documents import decode
from aggregator.formats.json_lines import read_json_lines
from aggregator.formats.record_fields import split
from aggregator.formats.record_slice import RecordSlice
from aggregator.formats.routing import by_table
from aggregator.tables.native_block import native
from aggregator.tables.value_limits import limits_of
from bench.feed_ground import FEED_DIRECTORY
from bench.json_decoding import RECORDS, TABLE, document, fetched
from bench.measure import Tree
from deploy.lab.clickhouse import ClickHouseServer
from deploy.lab.credentials import PASSWORD, USERNAME
from deploy.lab.process import free_port
from replicator.batches import batch
from replicator.batches.records import opened

BLOCKS = 20
CLUSTER, TOPIC = "west regional", "flights"
_CHECK = msgspec.json.Decoder(msgspec.Raw)

Way = Callable[[RecordSlice], bytes]


def native_block(records: RecordSlice) -> bytes:
    block = native(decode([records], TABLE), TABLE, cluster=CLUSTER, topic=TOPIC, partition=1)
    return block.bytes_of(revision=0)


def checked_documents(records: RecordSlice) -> bytes:
    """Returns documents with their coordinates; raises ValueError if they are not one each."""
    documents, reasons = read_json_lines([records])
    text = documents.text()
    text.decode()
    if reasons or len(_CHECK.decode_lines(text)) != len(documents):
        raise ValueError("a record is no document")
    place = f'{{"_cluster":"{CLUSTER}","_topic":"{TOPIC}","_partition":1,"_offset":'.encode()
    offsets = pa.array(records.offset[documents.record]).cast(pa.string()).cast(pa.binary())
    limits = limits_of(documents.lines)
    rest = taken(memoryview(documents.lines.buffers()[2]), limits[:-1] + 1, limits[1:])
    spliced = pc.binary_join_element_wise(
        pa.scalar(place), offsets, pa.scalar(b',"_row":0,'), rest, pa.scalar(b"")
    )
    return bytes(memoryview(spliced.buffers()[2]))


WAYS: dict[str, tuple[str, Way]] = {
    "native": ("Native", native_block),
    "json": ("JSONEachRow", checked_documents),
}


def main() -> None:
    random.seed(1)
    blocks = int(sys.argv[1]) if len(sys.argv) > 1 else BLOCKS
    data = fetched([document(random.choice(("UA", "B6", "EV", "DL"))) for _ in range(RECORDS)])
    starts = batch.layout(data).starts
    directory = FEED_DIRECTORY.with_name("bench-json-ways")
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)
    port = free_port()
    setting = f"<http_port>{port}</http_port>"
    with ClickHouseServer(directory, configuration=setting) as server:
        server.wait_ready()
        client = server.client()
        columns = ", ".join(f"{column.name} {column.type}" for column in TABLE.columns)
        for name in WAYS:
            client.execute(f"CREATE TABLE {name} ({columns}) ENGINE = MergeTree ORDER BY flight")
        client.execute("SYSTEM STOP MERGES")
        tree = Tree(server.process.pid)
        loader, servers = dict.fromkeys(WAYS, 0.0), dict.fromkeys(WAYS, 0.0)
        for number in range(-1, blocks):
            for name, (format_name, way) in WAYS.items():
                began, server_began = time.process_time(), tree.cpu_seconds()
                (records,) = by_table(
                    split(opened(data, starts)), topic=TOPIC, header="table"
                ).values()
                insert(port, name, format_name, way(records))
                # The first block warms both up.
                if number >= 0:
                    loader[name] += time.process_time() - began
                    servers[name] += tree.cpu_seconds() - server_began
        hashes = "sum(cityHash64(_topic, _offset, flight, carrier, delay, departed, note)), count()"
        found = [client.execute(f"SELECT {hashes} FROM {name}") for name in WAYS]
        if found[0] != found[1]:
            raise RuntimeError(f"the ways do not store the same rows: {found}")
        client.disconnect()
    print(f"{blocks} blocks of {RECORDS} records, CPU seconds per million records")
    print("way      loader   server      sum")
    million = blocks * RECORDS / 1e6
    for name in WAYS:
        costs = (loader[name] / million, servers[name] / million)
        print(f"{name:8s}" + "".join(f" {cost:7.2f} " for cost in (*costs, sum(costs))))


def insert(port: int, table: str, format_name: str, data: bytes) -> None:
    query = quote(f"INSERT INTO {table} FORMAT {format_name}")
    request = urllib.request.Request(
        f"http://127.0.0.1:{port}/?query={query}",
        data=data,
        headers={"X-ClickHouse-User": USERNAME, "X-ClickHouse-Key": PASSWORD},
    )
    with urllib.request.urlopen(request) as answer:
        answer.read()


if __name__ == "__main__":
    main()
