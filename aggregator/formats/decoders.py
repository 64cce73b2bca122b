"""Decoders: the decoder of a feed's format."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from aggregator.formats import json_documents, row_batches
from aggregator.formats.avro_datums import AvroDatums
from aggregator.formats.protobuf_records import ProtobufRecords
from aggregator.formats.record_slice import RecordSlice
from aggregator.formats.undecodable import SettingAside
from aggregator.tables.decoded import Decoded
from aggregator.tables.table_schema import TableSchema
from replicator.config.feed_settings import ClickHouseFeed
from replicator.config.schema_folder import SchemaFolder


class Decoder(Protocol):
    """Decoder of record values."""

    def __call__(self, slices: Sequence[RecordSlice], schema: TableSchema) -> Decoded:
        """Returns the rows of a table's records; the same for the same records and schema."""


def decoder_of(feed: ClickHouseFeed) -> Decoder:
    """Returns the decoder of the feed's format. Records at which it fails are dead."""
    return SettingAside(_decoder(feed))


def _decoder(feed: ClickHouseFeed) -> Decoder:
    match feed.format:
        case "json":
            return json_documents.decode
        case "row_batches":
            return row_batches.decode
        case "avro":
            return AvroDatums(_schemas(feed))
        case "protobuf":
            return ProtobufRecords(_schemas(feed))


def _schemas(feed: ClickHouseFeed) -> SchemaFolder:
    assert feed.schemas is not None, "the configuration demands them"
    return feed.schemas
