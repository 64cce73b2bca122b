"""Row batch heads: what row batches say of themselves, before their rows are read."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from google.protobuf.descriptor import Descriptor
from google.protobuf.descriptor_pb2 import FieldDescriptorProto, FileDescriptorProto
from google.protobuf.message import DecodeError
from google.protobuf.message_factory import GetMessageClass

from aggregator.formats.proto_messages import pool_of
from aggregator.formats.proto_reader import ProtoReader
from aggregator.formats.record_slice import Ints
from aggregator.formats.row_batch_type import (
    COLUMNS_MAX,
    PACKAGE,
    WrittenColumn,
    row_batch_file,
    written_columns,
)
from aggregator.tables.table_schema import TableSchema


class Head(NamedTuple):
    """Head of a batch.

    Args:
        columns: encoded message Columns; empty: the hash stands for them.
    """

    table: str
    schema_hash: str
    columns: bytes


class WrongHead(Exception):
    """The batch cannot be loaded into the table. Its record is a dead letter."""


class UnknownHash(WrongHead):
    """The batch was written for other columns than these. The table may have been changed since its
    columns were read: read them once more."""


@dataclass(frozen=True, slots=True, eq=False)
class Heads:
    """Heads of messages.

    Args:
        distinct: heads.
        which: index of each message that has one.
        number: of the head of each of these messages.
        refused: why other messages have none, by index.
    """

    distinct: tuple[Head, ...]
    which: Ints
    number: Ints
    refused: dict[int, str]


def read_heads(messages: pa.BinaryArray) -> Heads:
    """Returns the heads of row batches."""
    read = _reader().read(messages)
    if not len(read.which):
        return Heads((), read.which, read.which, read.refused)
    encoded = [column.dictionary_encode() for column in read.columns.columns]
    place = [np.asarray(each.indices).astype(np.int64) for each in encoded]
    code = place[0]
    for each, column in zip(place[1:], encoded[1:], strict=True):
        # Numbered anew each time, so that a product stays small.
        _, code = np.unique(code * len(column.dictionary) + each, return_inverse=True)
    _, first, number = np.unique(code, return_index=True, return_inverse=True)
    distinct = [Head(*(column[at].as_py() for column in read.columns)) for at in first.tolist()]
    return Heads(tuple(distinct), read.which, number, read.refused)


def columns_of(head: Head, schema: TableSchema) -> tuple[WrittenColumn, ...]:
    """Returns the columns that a batch for this table was written for; raises WrongHead."""
    if head.table not in ("", schema.table):
        raise WrongHead(f"its batch names the table {head.table!r}")
    if head.columns:
        return _named_columns(head.columns)
    if not head.schema_hash:
        raise WrongHead("its batch has neither columns nor a schema_hash")
    if head.schema_hash != schema.hash:
        raise UnknownHash(
            f"its batch was written for columns of {schema.table} with the schema_hash "
            f"{head.schema_hash!r:.40}, and the table's is {schema.hash}"
        )
    return written_columns(schema)


def _named_columns(encoded: bytes) -> tuple[WrittenColumn, ...]:
    try:
        read: Any = GetMessageClass(_columns()).FromString(encoded)
    except DecodeError as error:
        raise WrongHead(f"the columns of its batch cannot be read: {error}") from None
    columns = tuple(WrittenColumn(each.name, each.type) for each in read.column)
    if len(columns) > COLUMNS_MAX:
        raise WrongHead(f"its batch has {len(columns)} columns, more than {COLUMNS_MAX}")
    if not all(name and type_name for name, type_name in columns):
        raise WrongHead("its batch has a column without name or type")
    if len({column.name for column in columns}) < len(columns):
        raise WrongHead("its batch names a column twice")
    return columns


@cache
def _columns() -> Descriptor:
    file = row_batch_file(())
    # Texts of other versions of Protobuf need not be UTF-8.
    file.syntax = "proto3"
    pool = pool_of([file])
    return pool.FindMessageTypeByName(f"{PACKAGE}.Columns")


@cache
def _reader() -> ProtoReader:
    """Reader of all fields but the rows; the columns stay encoded."""
    file = FileDescriptorProto(name="head.proto", package=PACKAGE, syntax="proto3")
    head = file.message_type.add(name="Head")
    text, octets = FieldDescriptorProto.TYPE_STRING, FieldDescriptorProto.TYPE_BYTES
    for number, (name, kind) in enumerate(
        (("table", text), ("schema_hash", text), ("columns", octets)), 1
    ):
        head.field.add(
            name=name, number=number, type=kind, label=FieldDescriptorProto.LABEL_OPTIONAL
        )
    return ProtoReader(pool_of([file]).FindMessageTypeByName(f"{PACKAGE}.Head"))
