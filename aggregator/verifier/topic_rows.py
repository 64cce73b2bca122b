"""Topic rows: the rows that the records of a topic stand for, by table, as a loader forms them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from aggregator.formats.decoders import decoder_of
from aggregator.formats.record_slice import RecordSlice
from aggregator.formats.routing import by_table
from aggregator.store.recognition import Identities
from aggregator.tables.table_schema import TableSchema
from aggregator.verifier.topic_records import TopicRecords
from replicator.config.feed_settings import ClickHouseFeed


@dataclass(frozen=True, slots=True, eq=False)
class RecordsOfTable:
    """Records of one table, in a range of offsets.

    Args:
        rows: that they stand for.
        slices: all of them.
        dead: offsets of those that stand for no rows, as they cannot be loaded.
    """

    rows: Identities = field(default_factory=Identities)
    slices: tuple[RecordSlice, ...] = ()
    dead: frozenset[int] = frozenset()


class TopicRows:
    """Rows of one feed in one cluster."""

    def __init__(self, records: TopicRecords, feed: ClickHouseFeed) -> None:
        self.records = records
        self._header = feed.header if feed.table_from == "header" else None
        self._decode = decoder_of(feed)

    async def read(
        self,
        topic: str,
        partition: int,
        begin: int,
        end: int,
        schemas: Mapping[str, TableSchema],
    ) -> dict[str, RecordsOfTable]:
        """Returns the committed records with offsets begin..end-1 by the table that they name.

        Records of a table that is not among the schemas are all dead.

        Raises:
            NotRead: a batch is broken.
            Unreachable: no answer in time.
            Answered: the offsets are gone from the log.
        """
        slices: dict[str, list[RecordSlice]] = {}
        async for records in self.records.slices(topic, partition, begin, end):
            for table, part in by_table(records, topic=topic, header=self._header).items():
                slices.setdefault(table, []).append(part)
        return {table: self._of(parts, schemas.get(table)) for table, parts in slices.items()}

    def _of(self, parts: list[RecordSlice], schema: TableSchema | None) -> RecordsOfTable:
        if schema is None:
            dead = (offset for part in parts for offset in part.offset.tolist())
            return RecordsOfTable(slices=tuple(parts), dead=frozenset(dead))
        decoded = self._decode(parts, schema)
        return RecordsOfTable(
            Identities(decoded.offset.astype(np.int64), decoded.row.astype(np.int64)),
            tuple(parts),
            frozenset(each.offset for each in decoded.dead),
        )
