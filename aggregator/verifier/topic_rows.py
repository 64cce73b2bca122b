"""Topic rows: the rows that the records of a topic stand for, by table, as a loader forms them."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from aggregator.formats.decoders import decoder_of
from aggregator.formats.record_slice import RecordSlice
from aggregator.formats.routing import by_table
from aggregator.store.recognition import Identities
from aggregator.tables.table_schema import TableSchema
from aggregator.verifier.topic_records import TopicRecords
from replicator.config.feed_settings import ClickHouseFeed


class TopicRows:
    """Rows of one feed in one cluster."""

    def __init__(self, records: TopicRecords, feed: ClickHouseFeed) -> None:
        self.records = records
        self._header = feed.header if feed.table_from == "header" else None
        self._decode = decoder_of(feed)

    async def rows(
        self,
        topic: str,
        partition: int,
        begin: int,
        end: int,
        schemas: Mapping[str, TableSchema],
    ) -> dict[str, Identities]:
        """Returns the rows of the committed records with offsets begin..end-1, by table.

        Records that a loader makes dead letters stand for no rows.

        Raises:
            NotRead: a batch is broken.
            Unreachable: no answer in time.
            Answered: the offsets are gone from the log.
        """
        slices: dict[str, list[RecordSlice]] = {}
        async for records in self.records.slices(topic, partition, begin, end):
            for table, part in by_table(records, topic=topic, header=self._header).items():
                slices.setdefault(table, []).append(part)
        return {
            table: self._identities(parts, schemas[table])
            for table, parts in slices.items()
            if table in schemas
        }

    def _identities(self, parts: list[RecordSlice], schema: TableSchema) -> Identities:
        decoded = self._decode(parts, schema)
        return Identities(decoded.offset.astype(np.int64), decoded.row.astype(np.int64))
