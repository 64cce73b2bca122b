"""Row batches of the feed cases: rows of 50 bytes, ROWS in a record."""

from __future__ import annotations

import random
from typing import Any

from google.protobuf.message_factory import GetMessageClass

from aggregator.formats.proto_messages import pool_of
from aggregator.formats.row_batch_type import PACKAGE, WrittenColumn, row_batch_file
from bench.flights import AIRPORTS, CARRIERS, COLUMNS, SECONDS_OF_DAY
from bench.load import ALPHABET

ROWS = 100
ROW_BYTES = 50

_WRITTEN = tuple(WrittenColumn(*column.split()) for column in COLUMNS.split(", "))
_ROW_HEAD_BYTES = 2
"""Number of the field `rows`, and the row's length."""


def batch_class() -> Any:
    """Returns the class of a batch's messages, as a program compiles it."""
    pool = pool_of([row_batch_file(_WRITTEN)])
    return GetMessageClass(pool.FindMessageTypeByName(f"{PACKAGE}.RowBatch"))


class RowBatchWriter:
    """Writer of batches that name their columns."""

    def __init__(self) -> None:
        self._batch = batch_class()

    def value(self, first: int, rng: random.Random) -> bytes:
        """Returns a batch of rows whose ids count from `first`."""
        batch = self._batch()
        for name, kind in _WRITTEN:
            batch.columns.column.add(name=name, type=kind)
        for number in range(first, first + ROWS):
            row = batch.rows.add(
                id=number,
                at=SECONDS_OF_DAY + number % 86_400,
                carrier=CARRIERS[number % 6].encode(),
                origin=AIRPORTS[number // 7 % 10].encode(),
                dest=AIRPORTS[number // 77 % 10].encode(),
                delay=number % 240 - 20,
                price=number % 100_000 / 4,
                note=b"",
            )
            room = ROW_BYTES - _ROW_HEAD_BYTES - row.ByteSize()
            row.note = bytes(ALPHABET[byte % 62] for byte in rng.randbytes(room))
        encoded: bytes = batch.SerializeToString()
        return encoded
