"""Processes of the driver loop: read, parse, insert, commit.

python -m bench.driver_loop_process '{"topic": ...}'
"""

from __future__ import annotations

import json
import multiprocessing
import sys
import time
from collections.abc import Mapping, Sequence
from importlib import import_module
from operator import attrgetter
from typing import Any

import numpy as np
from clickhouse_driver import Client
from clickhouse_driver.errors import Error
from confluent_kafka import Consumer

from bench.avro_datums import row_of
from bench.flights import COLUMNS, KIND
from bench.row_batches import batch_class

# The type checker of `make check` does without the rivals' libraries.
orjson: Any = import_module("orjson")

NAMES = tuple(column.split()[0] for column in COLUMNS.split(", "))
TYPES = {
    "UInt64": "uint64",
    "Int32": "int32",
    "Float64": "float64",
    "DateTime": "datetime64[s]",
    "String": "object",
}
RETRY_SECONDS = 0.2
SESSION_MS = 6000


def main(told: Mapping[str, Any]) -> None:
    """Runs the loops until one of them ends."""
    loops = [
        multiprocessing.Process(target=run, args=(told,), daemon=True)
        for _ in range(told["processes"])
    ]
    for loop in loops:
        loop.start()
    for loop in loops:
        loop.join()


def run(told: Mapping[str, Any]) -> None:
    """Loads the records of the group's partitions until killed."""
    consumer = Consumer(
        {
            "bootstrap.servers": told["bootstrap"],
            "group.id": told["group"],
            "enable.auto.commit": False,
            "auto.offset.reset": "earliest",
            "queued.min.messages": 4 * told["records"],
            "fetch.min.bytes": 1 << 16,
            "fetch.wait.max.ms": 100,
            "session.timeout.ms": SESSION_MS,
            "heartbeat.interval.ms": SESSION_MS // 6,
        }
    )
    consumer.subscribe([told["topic"]])
    batch = batch_class()
    while True:
        messages = consumer.consume(told["records"], timeout=told["seconds"])
        values = [message.value() for message in messages if message.error() is None]
        if not values:
            continue
        if told["format"] == "row_batches":
            rows = [row for value in values for row in batch.FromString(value).rows]
            insert(told, told["tables"][0], [[*map(attrgetter(name), rows)] for name in NAMES])
        else:
            loads: Any = row_of if told["format"] == "avro" else orjson.loads
            documents = [loads(value) for value in values]
            for table, part in by_table(documents, told["tables"]).items():
                insert(told, table, [[document[name] for document in part] for name in NAMES])
        consumer.commit(asynchronous=False)


def by_table(
    documents: list[dict[str, Any]], tables: Sequence[str]
) -> Mapping[str, list[dict[str, Any]]]:
    if len(tables) == 1:
        return {tables[0]: documents}
    found: dict[str, list[dict[str, Any]]] = {}
    for document in documents:
        found.setdefault(document[KIND], []).append(document)
    return found


_clients: dict[int, Client] = {}


def insert(told: Mapping[str, Any], table: str, values: Sequence[list[Any]]) -> None:
    """Inserts a block, again and again until the server takes it.

    Args:
        values: of each column.
    """
    kinds = (column.split()[1] for column in COLUMNS.split(", "))
    columns = [
        np.array(column, dtype=TYPES[kind]) for column, kind in zip(values, kinds, strict=True)
    ]
    settings: dict[str, Any] = {"use_numpy": True, "insert_block_size": told["rows"]}
    # Texts of Protobuf are bytes here.
    settings["strings_as_bytes"] = told["format"] == "row_batches"
    if told["quorum"]:
        settings |= {"insert_quorum": told["quorum"], "insert_quorum_timeout": 60_000}
    while True:
        try:
            if not _clients:
                _clients[0] = Client(
                    "127.0.0.1",
                    told["port"],
                    user=told["user"],
                    password=told["password"],
                    settings=settings,
                )
            _clients[0].execute(
                f"INSERT INTO {table} ({', '.join(NAMES)}) VALUES", columns, columnar=True
            )
            return
        except (Error, OSError, EOFError):
            _clients.clear()
            time.sleep(RETRY_SECONDS)


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
