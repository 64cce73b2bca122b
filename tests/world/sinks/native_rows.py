"""Rows of a native block, read from the bytes that the product sends."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

from aggregator.store.insertion import EMPTY
from aggregator.tables.table_schema import INCARNATION
from tests.world.sinks.keeper import Identity, Row

REVISION = 54_000
"""Revision of the protocol that the servers of a world speak: that of 18.16, or thereabouts."""
END = EMPTY.bytes_of(revision=REVISION)
"""Data that end an insert."""
BLOCK_INFO_BYTES = 8
NUMBERS = {"UInt32": struct.Struct("<I"), "UInt64": struct.Struct("<Q")}


class _Reader:
    def __init__(self, data: bytes) -> None:
        self._data, self._at = data, 0

    def skip(self, size: int) -> None:
        self._at += size

    def varint(self) -> int:
        value = shift = 0
        while True:
            octet = self._data[self._at]
            self._at += 1
            value |= (octet & 127) << shift
            if octet < 128:
                return value
            shift += 7

    def text(self) -> str:
        size = self.varint()
        self._at += size
        return self._data[self._at - size : self._at].decode()

    def number(self, kind: struct.Struct) -> int:
        self._at += kind.size
        value: int = kind.unpack_from(self._data, self._at - kind.size)[0]
        return value

    def reader(self, kind: str) -> Callable[[], Any]:
        if kind == "String":
            return self.text
        return lambda: self.number(NUMBERS[kind])

    @property
    def is_at_end(self) -> bool:
        return self._at == len(self._data)


def rows_of(table: str, data: bytes) -> tuple[Row, ...]:
    """Returns the rows of a block of one of a world's tables."""
    reader = _Reader(data)
    reader.skip(BLOCK_INFO_BYTES)
    width, height = reader.varint(), reader.varint()
    columns: dict[str, list[Any]] = {}
    for _ in range(width):
        name, kind = reader.text(), reader.text()
        read = reader.reader(kind)
        columns[name] = [read() for _ in range(height)]
    assert reader.is_at_end, "more bytes than the block has"
    incarnations = columns.get(INCARNATION, [0] * height)
    return tuple(
        Row(
            columns["_cluster"][at],
            Identity(
                table,
                columns["_topic"][at],
                columns["_partition"][at],
                columns["_offset"][at],
                columns["_row"][at],
                incarnations[at],
            ),
            columns["id"][at],
            columns["name"][at],
        )
        for at in range(height)
    )
