"""Tail of a target log: the records that a fenced writer still landed after its ledger entry."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from balancer.topic_partition import TopicPartition
from replicator.batches.batch import LOG_APPEND_TIME, Header, scan
from replicator.kafka.client.cluster import Answered, Cluster
from replicator.kafka.client.loss import Loss, LossKind
from replicator.kafka.protocol.error_codes import Code
from replicator.mirror.ledger.entry import SEQUENCE_MASK, Entry, Mark
from replicator.mirror.offset_map.run_segment import Run

READ_BYTES = 8 << 20


@dataclass(frozen=True, slots=True)
class Tail:
    """Content of a tail.

    Args:
        landed: number of records of the entry's writer after the entry, by its last sequence. A
            compacted target holds fewer records than were landed.
        end: target offset after the marker.
        mark: the last of these records, or the entry's own mark.
        runs: source and target offsets of these records.
        missing: records of the writer that are not there although later ones are.
        changed: records of the writer to which the target gave other timestamps.
        ends_thinned: after the last of these records the log has a hole, where more may have been.
            Compaction leaves nothing of a batch whose keys were all written again since.
        leader_epoch: leader epoch in which the marker was appended.
        is_whole: nothing had been deleted between the entry and the first batch that was read.
    """

    landed: int
    end: int
    mark: Mark | None
    runs: tuple[Run, ...]
    missing: Loss | None = None
    changed: Loss | None = None
    ends_thinned: bool = False
    leader_epoch: int = -1
    is_whole: bool = False


@dataclass(frozen=True, slots=True)
class Remembered:
    """Memory of the leader before the fence. With it, records of other writers can be skipped.

    Args:
        landed: records of the entry's writer that the leader remembered, counted from the entry on.
        end: end of the log, asked before the leader's memory was.
    """

    landed: int
    end: int


@dataclass(slots=True)
class Reading:
    """Progress of reading a tail; kept between attempts, so that a long tail is read once.

    Args:
        begin: offset where the tail begins.
        leader: leader epoch under which reading began (-1: not known).
        is_whole: nothing was deleted between the entry and `begin`.
        remembered: memory of the leader before the first attempt fenced the writer.
        offset: of the next batch.
        bytes_read: of the target log.
        is_doubtful: an election may make the reading wrong, because an attempt was cut short or
            records were skipped.
    """

    entry: Entry
    begin: int
    leader: int = -1
    is_whole: bool = False
    remembered: Remembered | None = None
    bytes_read: int = 0
    is_doubtful: bool = field(default=False, init=False)
    _has_skipped: bool = field(default=False, init=False)
    offset: int = field(init=False)
    mark: Mark | None = field(init=False)
    landed: int = field(init=False)
    runs: list[Run] = field(init=False)
    own: list[FoundBatch] = field(init=False)
    is_thinned: bool = field(init=False)
    has_hole: bool = field(init=False)

    def __post_init__(self) -> None:
        self._start()

    def _start(self) -> None:
        self.offset, self.mark, self.landed = self.begin, self.entry.mark, 0
        self.runs, self.own = [], []
        self.is_thinned, self.has_hole = not self.is_whole, False
        self.is_doubtful = self._has_skipped = False

    def continue_from(self, start: int) -> None:
        """Prepares the next attempt, on a log that begins at `start` by now."""
        self.is_doubtful = True
        self.deleted_before(start)

    def deleted_before(self, start: int) -> None:
        """Skips to `start` when records before it were deleted unread."""
        if start > self.offset:
            self.offset, self.has_hole, self.is_thinned = start, True, True

    def skip_others(self) -> None:
        """Skips other writers' records once every record that the leader remembered is found.

        Records that the writer landed later stand after the log end of that time.
        """
        known = self.remembered
        if known is None or self.landed < known.landed or known.end <= self.offset:
            return
        self.offset, self.remembered = known.end, None
        self.is_doubtful = self._has_skipped = True

    def is_misled(self, marker_leader: int) -> bool:
        """Returns True when an election may have changed the records that were read or skipped.

        If records were skipped, only a marker of the same leader epoch rules that out. For records
        that were read, a marker of that epoch or an older one does.
        """
        if self._has_skipped:
            return marker_leader != self.leader
        return self.is_doubtful and marker_leader > self.leader

    def restart(self, leader: int) -> None:
        """Starts over at `begin`, under another leader epoch and without the leader's memory."""
        self.leader, self.remembered = leader, None
        self._start()

    def add(self, header: Header) -> None:
        """Adds the next data batch; batches of other writers than the entry's do not count."""
        writer = header.producer_id, header.producer_epoch
        if writer != (self.entry.producer_id, self.entry.epoch):
            return
        last = (header.base_sequence + header.last_offset_delta) & SEQUENCE_MASK
        up_to = self.entry.landed_up_to(last)
        if up_to > self.landed:
            self.own.append(
                FoundBatch(
                    up_to - header.last_offset_delta - 1,
                    up_to,
                    self.is_thinned,
                    is_stamped=bool(header.attributes & LOG_APPEND_TIME),
                )
            )
            self.is_thinned = self.has_hole = False
            self.runs += _runs(self.entry, header, up_to)
            self.landed = up_to
            self.mark = Mark(header.next_offset - 1, *writer, last)


async def read_tail(
    cluster: Cluster, partition: TopicPartition, reading: Reading, marker: tuple[int, int]
) -> Tail:
    """Reads from where `reading` stopped to the first marker that fences the entry's writer.

    The high watermark is not enough as an end: an append of the old writer may still be in
    progress, and only a marker follows all of them. The marker of an earlier takeover does so too.

    Args:
        reading: progress so far, updated in place: a later call continues from it.
        marker: (producer id, epoch) of this takeover's own marker.
    """
    entry = reading.entry
    while True:
        reading.skip_others()
        for view, header in scan(await _read(cluster, partition, reading)):
            if header.next_offset <= reading.offset:
                continue
            reading.has_hole |= header.base_offset > reading.offset
            reading.is_thinned |= reading.has_hole
            reading.offset = header.next_offset
            reading.bytes_read += len(view)
            if not header.is_control:
                reading.add(header)
            elif _fences(header, entry, marker):
                if reading.is_misled(header.leader_epoch):
                    reading.restart(header.leader_epoch)
                    break
                missing = missing_records(entry, reading.own)
                return Tail(
                    reading.landed,
                    reading.offset,
                    reading.mark,
                    tuple(reading.runs),
                    missing,
                    changed_records(entry, reading.own),
                    reading.has_hole,
                    header.leader_epoch,
                    reading.is_whole,
                )


async def _read(cluster: Cluster, partition: TopicPartition, reading: Reading) -> bytes:
    """Returns the next batches; skips those that retention has deleted meanwhile."""
    while True:
        try:
            return await cluster.read(*partition, reading.offset, READ_BYTES)
        except Answered as answer:
            if Code.OFFSET_OUT_OF_RANGE not in answer.codes:
                raise
            start = await cluster.log_start(*partition)
            if start <= reading.offset:
                raise
            reading.deleted_before(start)


def _fences(control: Header, entry: Entry, marker: tuple[int, int]) -> bool:
    """Returns True when the entry's writer cannot have written after this control batch."""
    if (control.producer_id, control.producer_epoch) == marker:
        return True
    return control.producer_id == entry.producer_id and control.producer_epoch > entry.epoch


@dataclass(frozen=True, slots=True)
class FoundBatch:
    """A batch of the entry's writer.

    Args:
        first, end: range of its records, counted from the entry's sequence on.
        is_thinned: offsets are missing in the log between the writer's previous batch and this one,
            by compaction or at the log's begin. Records may be missing with them.
        is_stamped: the target gave the records its own timestamp.
    """

    first: int
    end: int
    is_thinned: bool
    is_stamped: bool = False


def missing_records(entry: Entry, batches: Sequence[FoundBatch]) -> Loss | None:
    """Returns the records that the target never took: the log has no room for them.

    A broker that has forgotten the writer takes any sequence. A batch that was refused before, for
    lack of replicas, is then overtaken by the next batch and refused forever.
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
        f"{count} records were refused, and later ones appended by a broker that had forgotten the "
        "producer; accept-loss omits the refused ones and continues after the later ones",
    )


def changed_records(entry: Entry, batches: Sequence[FoundBatch]) -> Loss | None:
    """Returns the records whose timestamps a topic with LogAppendTime has replaced.

    The writer saw no answer that shows it, or died before it could park the partition.
    """
    stamped = [batch for batch in batches if batch.is_stamped]
    if not stamped:
        return None
    first, last = stamped[0].first, stamped[-1].end
    spans = entry.spans(first, last - first)
    return Loss(
        LossKind.TIMES_CHANGED,
        spans[0].source_offset,
        spans[-1].source_offset + spans[-1].count,
        "message.timestamp.type=LogAppendTime when a former carrier wrote them: see that the "
        "target's topic has CreateTime, then accept-loss",
    )


def runs_before(tail: Tail | Loss | None, source_end: int) -> tuple[Run, ...]:
    """Returns the runs of a tail below a source offset.

    After a truncation of the source, the offsets after `source_end` are used again.
    """
    runs = tail.runs if isinstance(tail, Tail) else ()
    return tuple(
        run._replace(records=min(run.records, source_end - run.source_offset))
        for run in runs
        if run.source_offset < source_end
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
    """Returns True when the marked record is still at its offset, None when the evidence is gone.

    Retention or compaction may have removed the record; then nothing can be concluded.
    """
    if mark is None:
        return None
    while True:
        try:
            data = await cluster.read(*partition, mark.offset, 1)
        except Answered as answer:
            if Code.UNKNOWN_TOPIC_ID in answer.codes:
                return None  # recreated: its id tells
            if Code.OFFSET_OUT_OF_RANGE not in answer.codes:
                raise
            return None if await cluster.log_start(*partition) > mark.offset else False
        if headers := [header for _, header in scan(data)]:
            return _holds(mark, headers)
        # An empty answer is no proof: a newly elected leader shows nothing after an old high
        # watermark. It reports the log's end once it knows the new one.
        if await cluster.log_end(*partition) <= mark.offset:
            return False


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
