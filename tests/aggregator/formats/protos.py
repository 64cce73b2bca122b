"""Messages for tests: compiled from text, and encoded by Google's own library."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from google.protobuf.descriptor_pb2 import FileDescriptorSet
from google.protobuf.message_factory import GetMessageClass

from aggregator.formats.proto_messages import pool_of
from aggregator.formats.row_batch_type import WrittenColumn, row_batch_file, row_fields
from replicator.config.schema_folder import SchemaFolder, schema_folder


def folder_of(*, syntax: str = "proto3", **files: str) -> SchemaFolder:
    """Returns a folder of these .proto files."""
    with tempfile.TemporaryDirectory() as directory:
        for name, text in files.items():
            (Path(directory) / f"{name}.proto").write_text(f'syntax = "{syntax}";\n{text}')
        return schema_folder(Path(directory), "protobuf")


def message_class(folder: SchemaFolder, name: str) -> Any:
    pool = pool_of(FileDescriptorSet.FromString(folder.descriptors).file)
    return GetMessageClass(pool.FindMessageTypeByName(name))


def batch_class(columns: Sequence[WrittenColumn]) -> Any:
    pool = pool_of([row_batch_file(columns)])
    return GetMessageClass(pool.FindMessageTypeByName("sluice.RowBatch"))


def row_batch(
    columns: Sequence[WrittenColumn],
    rows: Sequence[Mapping[str, Any]],
    *,
    table: str = "t",
    schema_hash: str = "",
    is_named: bool = True,
) -> bytes:
    """Returns a batch of rows, which hold values by the names of columns.

    Args:
        is_named: the batch names its columns.
    """
    batch = batch_class(columns)(table=table, schema_hash=schema_hash)
    if is_named:
        for column in columns:
            batch.columns.column.add(name=column.name, type=column.type)
    fields = {columns[field.column].name: field.name for field in row_fields(columns)}
    for row in rows:
        batch.rows.add(**{fields[name]: value for name, value in row.items()})
    return batch.SerializeToString()
