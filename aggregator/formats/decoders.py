"""Decoders: the decoder of a feed's format."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from aggregator.formats import json_documents, row_batches
from aggregator.formats.avro_datums import AvroDatums
from aggregator.formats.protobuf_records import ProtobufRecords
from aggregator.formats.record_slice import RecordSlice
from aggregator.tables.decoded import Decoded
from aggregator.tables.table_schema import TableSchema
from replicator.config.feed_settings import Feed


class Decoder(Protocol):
    """Decoder of record values."""

    def __call__(self, slices: Sequence[RecordSlice], schema: TableSchema) -> Decoded:
        """Returns the rows of a table's records; the same for the same records and schema."""


def decoder_of(feed: Feed) -> Decoder:
    """Returns the decoder of the feed's format."""
    if feed.format == "avro" and feed.schemas:
        return AvroDatums(feed.schemas)
    if feed.format == "protobuf" and feed.schemas:
        return ProtobufRecords(feed.schemas)
    if feed.format == "row_batches":
        return row_batches.decode
    return json_documents.decode
