"""Engines of case `read`: a server of ClickHouse 18.16, and chdb in this process."""

from __future__ import annotations

import json
import os
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

from clickhouse_driver import Client

from aggregator.upsert.upsert_schema import WIDE_PARTS, ServerTraits
from bench.measure import Tree
from deploy.lab.clickhouse import ClickHouseServer

OLD, NEW = "clickhouse 18.16", "chdb"
MUTATION_SETTINGS = {"background_pool_size": 16}
Rows = list[tuple[Any, ...]]


class Connection(ABC):
    """Connection of one thread."""

    @abstractmethod
    def ask(self, query: str) -> Rows:
        """Runs a statement and returns its rows."""


class Engine(ABC):
    """Engine under measurement.

    Args:
        pid: process whose CPU is the engine's.
        has_best: it can leave partitions apart where FINAL reads.
    """

    name: str
    traits: ServerTraits
    has_best: bool
    pid: int

    @abstractmethod
    def connect(self) -> Connection:
        """Returns another connection."""

    def tree(self) -> Tree:
        return Tree(self.pid)


class OldConnection(Connection):
    def __init__(self, client: Client) -> None:
        self.client = client

    def ask(self, query: str) -> Rows:
        found = self.client.execute(query)
        return list(found) if isinstance(found, list) else []


class OldEngine(Engine):
    """Server of the lab."""

    name, has_best, traits = OLD, False, ServerTraits()

    def __init__(self, server: ClickHouseServer) -> None:
        self._server = server
        self.pid = server.process.pid

    def connect(self) -> OldConnection:
        return OldConnection(self._server.client())


class NewConnection(Connection):
    def __init__(self, connected: Any) -> None:
        self._connected = connected

    def ask(self, query: str) -> Rows:
        # A FORMAT of the statement's own would be refused behind SETTINGS.
        found = str(self._connected.query(query, "JSONCompactEachRow")).strip()
        return [tuple(json.loads(line)) for line in found.splitlines()]


class NewEngine(Engine):
    """chdb, whose connections share the process. Its CPU is measured with the bench's own."""

    name, has_best = NEW, True
    traits = ServerTraits("", frozenset(WIDE_PARTS))

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._chdb = import_module("chdb")
        self.pid = os.getpid()

    def connect(self) -> NewConnection:
        connection = NewConnection(self._chdb.connect(str(self._folder)))
        connection.ask("SET output_format_json_quote_64bit_integers = 0")
        return connection


@contextmanager
def engine_of(name: str, directory: Path) -> Iterator[Engine]:
    """Yields a new engine without tables."""
    directory.mkdir(parents=True, exist_ok=True)
    if name == NEW:
        yield NewEngine(directory / "chdb")
        return
    with ClickHouseServer(directory, profile=MUTATION_SETTINGS) as server:
        yield OldEngine(server)
