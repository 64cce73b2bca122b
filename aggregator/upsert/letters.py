"""Letters: the dead letters of a tick, made of its notes and of the records once more.

Tasks only name the records, as offsets and reasons. The driver produces the letters in the
transaction of the next tick, so that each is there exactly once.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable

import numpy as np

from aggregator.loader.dead_letters import PARTITIONS, added_by_us, dead_letters
from aggregator.loader.produced import Produced, RecordPlace
from aggregator.tables.decoded import DeadRecord
from aggregator.upsert.facts import LaneNote
from aggregator.upsert.range_reader import LaneSpan, RangeLost, RangeReader
from aggregator.upsert.tick import Lane, Tick
from balancer.topic_partition import TopicPartition
from replicator.config.names import dead_letter_topic

GONE = "the record itself is gone from its log"


async def letters_of(
    reader: RangeReader, feed: str, table: str, tick: Tick, notes: Iterable[LaneNote]
) -> AsyncIterator[list[Produced]]:
    """Yields the dead letters of a tick, by lane and offset.

    A record that is not in its log any more becomes a letter without key and value: a tick that is
    claimed stops at nothing.

    Args:
        feed, table: names.

    Raises RangeAway, Forbidden.
    """
    for note in notes:
        left = dict(note.letters)
        if not left:
            continue
        lane = tick.lanes[note.lane]
        place = TopicPartition(lane.topic, lane.partition)
        span = LaneSpan(note.lane, lane, min(left), max(left) + 1, tick.epoch(note.lane))
        try:
            async for part in reader.read([span]):
                offsets = part.records.offset
                found = offsets[np.isin(offsets, np.array(list(left), np.int64))].tolist()
                if found:
                    dead = [DeadRecord(offset, left.pop(offset)) for offset in found]
                    yield dead_letters(feed, place, lane.cluster, table, [part.records], dead)
        except RangeLost:
            pass
        if left:
            yield [_gone(feed, table, lane, offset, why) for offset, why in sorted(left.items())]


def _gone(feed: str, table: str, lane: Lane, offset: int, why: str) -> Produced:
    """Returns the letter of a record that nobody can read any more."""
    place = TopicPartition(lane.topic, lane.partition)
    headers = added_by_us(lane.cluster, place, table, DeadRecord(offset, f"{GONE}; {why}"))
    return Produced(
        dead_letter_topic(feed),
        lane.partition % PARTITIONS,
        None,
        None,
        None,
        headers,
        of=RecordPlace(place, offset),
        added=len(headers),
    )
