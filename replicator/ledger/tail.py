"""The tail of a target log: what a fenced writer still landed behind its ledger entry."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from balancer.plan import TopicPartition
from replicator.batches.batch import Header, scan
from replicator.kafka.cluster import Answered, Cluster
from replicator.kafka.verdict import Code
from replicator.ledger.entry import SEQUENCE_MASK, Entry, Mark
from replicator.ledger.loss import Loss, LossKind
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
        missing: records of the writer that are not there although later ones are.
        ends_thinned: behind the last of them the log has a hole, where more may have been: the
            cleaner leaves nothing of a batch whose keys others have all written since.
    """

    landed: int
    end: int
    mark: Mark | None
    runs: tuple[Run, ...]
    bytes_read: int
    missing: Loss | None = None
    ends_thinned: bool = False


async def read_tail(
    cluster: Cluster,
    partition: TopicPartition,
    entry: Entry,
    begin: int,
    marker: tuple[int, int],
    *,
    is_whole: bool = False,
) -> Tail:
    """Read from `begin` to the abort marker of (producer id, epoch).

    Args:
        is_whole: nothing was deleted between the entry and `begin`.

    To the marker and never just to the high watermark: an append of the old writer may still be
    under way, and only the marker comes after all of them.
    """
    landed, offset, mark, bytes_read = 0, begin, entry.mark, 0
    runs: list[Run] = []
    own: list[Found] = []
    is_thinned, has_hole = not is_whole, False
    while True:
        data = await cluster.read(*partition, offset, READ_BYTES)
        for view, header in scan(data):
            if header.next_offset <= offset:
                continue
            has_hole |= header.base_offset > offset
            is_thinned |= has_hole
            offset = header.next_offset
            bytes_read += len(view)
            writer = (header.producer_id, header.producer_epoch)
            if header.is_control:
                if writer == marker:
                    missing = missing_records(entry, own)
                    return Tail(landed, offset, mark, tuple(runs), bytes_read, missing, has_hole)
            elif writer == (entry.producer_id, entry.epoch):
                last = (header.base_sequence + header.last_offset_delta) & SEQUENCE_MASK
                up_to = entry.landed_up_to(last)
                if up_to > landed:
                    own.append(Found(up_to - header.last_offset_delta - 1, up_to, is_thinned))
                    is_thinned = has_hole = False
                    runs += _runs(entry, header, up_to)
                    landed = up_to
                    mark = Mark(offset - 1, *writer, last)


@dataclass(frozen=True, slots=True)
class Found:
    """A batch of the entry's writer.

    Args:
        first, end: of its records, counted from the entry's sequence on.
        is_thinned: between the writer's batch before and this one offsets are missing in the log,
            by compaction or at its begin, and records may be with them.
    """

    first: int
    end: int
    is_thinned: bool


def missing_records(entry: Entry, batches: Sequence[Found]) -> Loss | None:
    """Records that the target never took, as the log has no room for them.

    A broker that has forgotten the writer takes any sequence: a batch refused before, for want of
    replicas, is then overtaken by the next one, and refused for ever.
    """
    holes = []
    end = 0
    for batch in batches:
        if batch.first > end and not batch.is_thinned:
            holes.append((end, batch.first))
        end = batch.end
    if not holes:
        return None
    count = sum(stop - begin for begin, stop in holes)
    spans = [span for begin, stop in holes for span in entry.spans(begin, stop - begin)]
    return Loss(
        LossKind.BATCH_MISSING,
        spans[0].source_offset,
        spans[-1].source_offset + spans[-1].count,
        f"{count} records were refused, and later ones taken by a broker that had forgotten the "
        "writer; accept-loss leaves them out, and goes on behind the later ones",
    )


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
