"""The tail of a target log: what a fenced writer still landed behind its ledger entry."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from balancer.plan import TopicPartition
from replicator.batches.batch import Header, scan
from replicator.kafka.cluster import Answered, Cluster
from replicator.kafka.verdict import Code
from replicator.ledger.entry import SEQUENCE_MASK, Entry, Mark
from replicator.offsets.stretch import Run

READ_BYTES = 8 << 20


@dataclass(frozen=True, slots=True)
class Tail:
    """What was found.

    Args:
        landed: records of the entry's writer that follow the entry, by its last sequence: a
            compacted target holds fewer records than were landed.
        end: target offset behind the marker.
        mark: the last of them, or the entry's own.
        runs: where they stand.
        bytes_read: of the target log.
    """

    landed: int
    end: int
    mark: Mark | None
    runs: tuple[Run, ...]
    bytes_read: int


async def read_tail(
    cluster: Cluster,
    partition: TopicPartition,
    entry: Entry,
    begin: int,
    marker: tuple[int, int],
) -> Tail:
    """Read from `begin` to the abort marker of (producer id, epoch).

    To the marker and never just to the high watermark: an append of the old writer may still be
    under way, and only the marker comes after all of them.
    """
    landed, offset, mark, bytes_read = 0, begin, entry.mark, 0
    runs: list[Run] = []
    while True:
        data = await cluster.read(*partition, offset, READ_BYTES)
        for view, header in scan(data):
            if header.next_offset <= offset:
                continue
            offset = header.next_offset
            bytes_read += len(view)
            writer = (header.producer_id, header.producer_epoch)
            if header.is_control:
                if writer == marker:
                    return Tail(landed, offset, mark, tuple(runs), bytes_read)
            elif writer == (entry.producer_id, entry.epoch):
                last = (header.base_sequence + header.last_offset_delta) & SEQUENCE_MASK
                up_to = entry.landed_up_to(last)
                if up_to > landed:
                    runs += _runs(entry, header, up_to)
                    landed = up_to
                    mark = Mark(offset - 1, *writer, last)


def _runs(entry: Entry, header: Header, up_to: int) -> list[Run]:
    count = header.last_offset_delta + 1
    target_offset = header.base_offset
    runs = []
    for span in entry.spans(up_to - count, count):
        runs.append(Run(span.source_offset, target_offset, span.count))
        target_offset += span.count
    return runs


async def mark_holds(cluster: Cluster, partition: TopicPartition, mark: Mark | None) -> bool | None:
    """Whether the marked record is still in its place; None when the evidence is gone.

    Retention may have taken it (then nothing can be said), compaction as well.
    """
    if mark is None:
        return None
    try:
        data = await cluster.read(*partition, mark.offset, 1)
    except Answered as answer:
        if Code.OFFSET_OUT_OF_RANGE not in answer.codes:
            raise
        return None if await cluster.log_start(*partition) > mark.offset else False
    return _holds(mark, [header for _, header in scan(data)])


def _holds(mark: Mark, headers: Sequence[Header]) -> bool | None:
    for header in headers:
        if header.next_offset <= mark.offset:
            continue
        if header.base_offset > mark.offset:
            return None
        sequence = (header.base_sequence + mark.offset - header.base_offset) & SEQUENCE_MASK
        found = (header.producer_id, header.producer_epoch, sequence)
        return found == (mark.producer_id, mark.epoch, mark.sequence)
    return False
