"""Decoders: the decoder of a feed's format."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from aggregator.formats import json_documents
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
    return json_documents.decode
