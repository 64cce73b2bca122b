"""Dead letters: records that cannot be loaded, produced in the transaction of the intent that names
their block. So each is there exactly once, with one exception.

A block whose table was altered before it could be stored is decoded again, by the new columns. If a
successor does that, it produces all dead letters of the block: some may be there already.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from aggregator.formats.record_slice import RecordSlice
from aggregator.loader.draft import Draft
from aggregator.loader.produced import HEADER_PREFIX, Produced, RecordPlace
from aggregator.tables.decoded import DeadRecord, Decoded
from balancer.plan import TopicPartition
from replicator.config.names import dead_letter_topic

PARTITIONS = 4
"""Partitions of a feed's topic of dead letters."""
TEXT_CHARACTERS_MAX = 1000
"""Longest text of a header: the table's name may come from a record."""


def dead_letters(
    feed: str,
    place: TopicPartition,
    cluster: str,
    table: str,
    slices: Sequence[RecordSlice],
    dead: Iterable[DeadRecord],
) -> list[Produced]:
    """Returns the dead letters of a block, with their coordinates and reasons as headers."""
    reasons = {each.offset: each.reason for each in dead}
    offsets = np.array(list(reasons), np.int64)
    found: list[Produced] = []
    if not reasons:
        return found
    for part in slices:
        for at in np.flatnonzero(np.isin(part.offset, offsets)).tolist():
            offset = int(part.offset[at])
            added = {
                "cluster": cluster,
                "topic": place.topic,
                "partition": str(place.partition),
                "offset": str(offset),
                "timestamp": str(int(part.timestamp_ms[at])),
                "table": table[:TEXT_CHARACTERS_MAX],
                "reason": reasons[offset][:TEXT_CHARACTERS_MAX],
            }
            headers = [
                (f"{HEADER_PREFIX}{key}", text.encode(errors="replace"))
                for key, text in added.items()
            ]
            found.append(
                Produced(
                    dead_letter_topic(feed),
                    place.partition % PARTITIONS,
                    # Its own: that of its record may be one that the topic refuses, or deletes.
                    None,
                    part.key_at(at),
                    part.value_at(at),
                    (*part.headers_at(at), *headers),
                    of=RecordPlace(place, offset),
                    added=len(headers),
                )
            )
    return found


def all_dead(draft: Draft[RecordSlice]) -> Decoded:
    """Returns the records of a table that does not exist: all of them are dead letters."""
    named = f"there is no table {draft.table!r}" if draft.table else "no header names its table"
    offsets = (offset for part in draft.slices for offset in part.offset.tolist())
    return Decoded(dead=tuple(DeadRecord(offset, named) for offset in offsets))
