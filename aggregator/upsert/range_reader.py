"""Range reader: the committed records of ranges of many partitions, of one or several clusters.

A tick's ranges end before the last stable offset, so all of their records are there: a range is
read to its end, whatever gaps compaction, markers and aborted transactions have left in it. What is
not there any more is named, and never passed over.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from aiokafka.errors import KafkaError

from aggregator.formats.record_fields import split
from aggregator.formats.record_slice import RecordSlice
from aggregator.upsert.row_facts import LaneRecords
from aggregator.upsert.tick import Lane, LaneRange, Stop, Tick
from replicator.batches.batch import BrokenBatch
from replicator.batches.committed_records import committed_records
from replicator.kafka.client.brokers import Unreachable
from replicator.kafka.client.cluster import Answered, Cluster, Forbidden
from replicator.kafka.client.loss import Loss, LossKind
from replicator.kafka.protocol.error_codes import Code, Verdict, named, verdict
from replicator.kafka.protocol.fetch import FetchPosition, FetchRequest
from replicator.runtime.backoff import Backoff
from replicator.runtime.error_text import error_text

PATIENCE_SECONDS = 60.0
"""Time without any progress after which reading is given up."""
BUFFERED_BYTES_MAX = 64 << 20
"""Bytes of records that wait for those of lanes before them; beyond, only those are fetched."""
RESPONSE_BYTES_MAX = 8 << 20
OPENED_BYTES_MAX = 32 << 20
"""Bytes to which the batches of one answer may open, roughly."""
CUT_DETAIL = "and written anew"
FETCH_BYTES = (16 << 10, 4 << 20)
"""Least and largest size of a fetch from a partition."""
RECORD_BYTES_GUESS = 256
WAIT_MS = 100


class LaneSpan(NamedTuple):
    """Offsets begin..end-1 of a lane.

    Args:
        number: of the lane.
        epoch: leader epoch of the end (see Tick); -1: not known.
    """

    number: int
    lane: Lane
    begin: int
    end: int
    epoch: int = -1


class RangeLost(Exception):
    """Records of a tick that are not in their log any more. An operator has to act."""

    def __init__(self, lane: Lane, loss: Loss) -> None:
        super().__init__(f"{lane.cluster}: {lane.topic}-{lane.partition}: {loss}")
        self.lane = lane
        self.loss = loss


class LostRange(NamedTuple):
    """Loss that a text tells of."""

    cluster: str
    topic: str
    partition: int
    loss: Loss


_LOST = re.compile(
    r"(?P<cluster>[a-z0-9-]+ (?:regional|aggregate)): "
    r"(?P<topic>[A-Za-z0-9._-]+)-(?P<partition>\d+): "
    rf"(?P<kind>{'|'.join(re.escape(kind.value) for kind in LossKind)}): "
    r"source offsets \[(?P<begin>\d+), (?P<end>\d+|\?)\)(?:: (?P<detail>[^\n]*))?"
)


def lost_range(text: str) -> LostRange | None:
    """Returns the loss of a RangeLost in the text of an error; None if it has none.

    Spark tells the driver the text of what a task has raised, among other lines.
    """
    found = _LOST.search(text)
    if found is None:
        return None
    end = None if found["end"] == "?" else int(found["end"])
    loss = Loss(LossKind(found["kind"]), int(found["begin"]), end, found["detail"] or "")
    return LostRange(found["cluster"], found["topic"], int(found["partition"]), loss)


class RangeAway(Exception):
    """Records that no broker sends now. Read them again later."""


def spans_of(tick: Tick, first: int, last: int) -> list[LaneSpan]:
    """Returns the offsets of some records of a tick, by lane.

    Args:
        first, last: numbers of records within the tick; the last one is not taken.
    """
    spans, before = [], 0
    for number, (lane, each) in enumerate(zip(tick.lanes, tick.ranges, strict=True)):
        begin, end = (max(at - before, 0) + each.begin for at in (first, last))
        before += each.end - each.begin
        if (end := min(end, each.end)) > begin:
            spans.append(LaneSpan(number, lane, begin, end, tick.epoch(number)))
    return spans


def without_gaps(spans: Iterable[LaneSpan], gaps: Iterable[Stop]) -> list[LaneSpan]:
    """Returns spans without the offsets of gaps that an operator accepted.

    They are left out even where the log has such offsets again, so that each attempt of a tick
    reads the same records.
    """
    left = list(spans)
    for lane, loss, is_accepted in gaps:
        if is_accepted:
            left = [part for each in left for part in _cut_out(each, lane, loss)]
    return left


def _cut_out(span: LaneSpan, lane: int, loss: Loss) -> list[LaneSpan]:
    if span.number != lane:
        return [span]
    before = span._replace(end=min(span.end, loss.begin))
    behind = span._replace(begin=span.end if loss.end is None else max(span.begin, loss.end))
    return [each for each in (before, behind) if each.begin < each.end]


def with_gap(tick: Tick, lost: LostRange) -> Tick:
    """Returns a tick with a loss among its gaps; the tick itself if it is among them, or concerns
    none of its ranges.

    A task finds the part of it that its block has. The range is as wide as the kind allows, so that
    all blocks of a lane have one loss: a log's start never goes back, a log that was cut has none
    of the records behind the cut, and of a topic that is gone nothing can be read.
    """
    for number, (lane, taken) in enumerate(zip(tick.lanes, tick.ranges, strict=True)):
        begin, end = _range_of(lost.loss, taken)
        if (lane.cluster, lane.topic, lane.partition) != lost[:3] or begin >= end:
            continue
        found = Stop(number, replace(lost.loss, begin=begin, end=end))
        others = [each for each in tick.gaps if each.is_accepted or each.lane != number]
        if found._replace(is_accepted=True) in others:
            return tick
        return replace(tick, gaps=(*others, found))
    return tick


def _range_of(loss: Loss, taken: LaneRange) -> tuple[int, int]:
    """Returns the part of a range that is lost; begin >= end if none is."""
    gone = LossKind.SOURCE_DELETED, LossKind.SOURCE_RECREATED
    is_from_begin = loss.kind in (LossKind.RETENTION_PASSED, *gone)
    is_to_end = loss.kind in (LossKind.SOURCE_TRUNCATED, *gone) or loss.end is None
    if loss.begin >= taken.end or (loss.end is not None and loss.end <= taken.begin):
        return 0, 0
    begin = taken.begin if is_from_begin else max(loss.begin, taken.begin)
    return begin, taken.end if is_to_end or loss.end is None else min(loss.end, taken.end)


@dataclass(eq=False)
class _Reading:
    """Reading of one span.

    Args:
        position: offset to fetch next.
        bytes_each: bytes that an offset takes in the log, roughly.
        is_alone: the next fetch asks for this span only, so that nothing but the log explains an
            empty answer.
        empty: empty answers in a row.
        doubt: loss that the last answer speaks of.
        is_cut: the last answer has records that were written in place of those of the span.
    """

    span: LaneSpan
    position: int
    bytes_each: float = RECORD_BYTES_GUESS
    fetch_bytes: int = 0
    is_alone: bool = False
    empty: int = 0
    doubt: Loss | None = None
    is_cut: bool = False
    records: list[RecordSlice] = field(default_factory=list)

    @property
    def is_done(self) -> bool:
        return self.position >= self.span.end

    @property
    def buffered_bytes(self) -> int:
        return sum(each.size_bytes for each in self.records)

    @property
    def wanted_bytes(self) -> int:
        least, largest = FETCH_BYTES
        expected = least + round(1.1 * self.bytes_each * (self.span.end - self.position))
        return max(min(expected, largest), self.fetch_bytes)

    def take(self, row: Sequence[Any], *, is_filled: bool) -> bool:
        """Takes in a partition's part of an answer without an error; returns True for progress.

        Args:
            is_filled: the answer has records of some partition.
        """
        _, _, _, stable_offset, _, aborted, _, records, _ = row
        span, before = self.span, self.position
        if not records:
            return False if is_filled else self._took_nothing(stable_offset)
        found = committed_records(
            records,
            position=before,
            aborted=[(each[0], each[1]) for each in aborted or ()],
            opened_bytes_max=OPENED_BYTES_MAX,
            end=span.end,
        )
        if found.leader_epoch > span.epoch >= 0:
            # Epochs only grow along a log: all records below the end are of that epoch at most.
            self.is_cut = True
            self.doubt = Loss(LossKind.SOURCE_TRUNCATED, before, span.end, CUT_DETAIL)
            return False
        trouble = found.trouble
        if found.next_offset > before:
            try:
                if found.records is not None and len(found.records):
                    part = split(found.records).between(span.begin, span.end)
                    if len(part):
                        self.records.append(part.owned())
            except BrokenBatch as broken:
                trouble = broken
            else:
                self.bytes_each = len(records) / (found.next_offset - before)
                self.position, self.fetch_bytes, self.empty = found.next_offset, 0, 0
                self.is_alone, self.doubt = False, None
                return True
        if trouble is not None:
            end = trouble.last_offset + 1
            self.doubt = Loss(LossKind.SOURCE_CORRUPT, trouble.first_offset, end, trouble.what)
            return False
        grown, self.fetch_bytes = found.cut_bytes > self.fetch_bytes, found.cut_bytes
        return grown

    def _took_nothing(self, stable_offset: int) -> bool:
        """Takes in an answer without any record: the log has none up to its end."""
        end = self.span.end
        if stable_offset < end:
            self.doubt = Loss(LossKind.SOURCE_TRUNCATED, max(stable_offset, 0), end)
            return False
        self.empty += self.is_alone
        self.is_alone = True
        if self.empty > 1:
            self.position, self.doubt = end, None
        return True


@dataclass(eq=False)
class RangeReader:
    """Reads ranges of a tick.

    Args:
        clusters: by name; open.
        patience_seconds: time without progress after which it gives up.
    """

    clusters: Mapping[str, Cluster]
    patience_seconds: float = PATIENCE_SECONDS
    buffered_bytes_max: int = BUFFERED_BYTES_MAX

    async def read(self, spans: Iterable[LaneSpan]) -> AsyncIterator[LaneRecords]:
        """Yields the records of spans, in their order.

        Raises:
            RangeLost, RangeAway: not all of them can be read.
            Forbidden: the user lacks a right.
        """
        readings = [_Reading(span, span.begin) for span in spans]
        for name, topics in _topics(readings).items():
            self.clusters[name].watch(topics)
        backoff, moved_at = Backoff(0.02, 1.0), time.monotonic()
        while readings:
            first = readings[0]
            while first.records:
                yield LaneRecords(first.span.number, first.records.pop(0))
            if first.is_done:
                del readings[0]
                continue
            if await self._fetched(self._wanted(readings)):
                backoff.reset()
                moved_at = time.monotonic()
                continue
            if time.monotonic() - moved_at > self.patience_seconds:
                raise self._given_up(readings)
            await asyncio.sleep(backoff.jittered(0.5, 1.0))
            backoff.grow()
            for name in _topics(readings):
                await self.clusters[name].try_refresh()

    async def read_left(self, spans: Iterable[LaneSpan]) -> AsyncIterator[LaneRecords]:
        """Yields the records of spans that are still in their logs, in the order of the spans.

        Raises RangeAway, Forbidden.
        """
        left = list(spans)
        while left:
            behind: dict[int, int] = {}
            try:
                async for part in self.read(left):
                    behind[part.lane] = int(part.records.offset[-1]) + 1
                    yield part
                return
            except RangeLost as lost:
                gaps = [Stop(each.number, lost.loss) for each in left if each.lane == lost.lane]
                gaps += [Stop(lane, Loss(lost.loss.kind, 0, end)) for lane, end in behind.items()]
                left = without_gaps(left, [each._replace(is_accepted=True) for each in gaps])

    def _wanted(self, readings: Sequence[_Reading]) -> list[_Reading]:
        is_full = sum(each.buffered_bytes for each in readings) >= self.buffered_bytes_max
        return [each for each in readings[: 1 if is_full else None] if not each.is_done]

    async def _fetched(self, wanted: Sequence[_Reading]) -> bool:
        """Fetches once for each span; returns True for progress of any."""
        groups: defaultdict[tuple[str, int, int], list[_Reading]] = defaultdict(list)
        unknown = set()
        for at, each in enumerate(wanted):
            name, topic, _, partition = each.span.lane
            leader = self.clusters[name].leader(topic, partition)
            if leader is None:
                unknown.add(name)
            else:
                groups[name, leader.node, at if each.is_alone else -1].append(each)
        for name in unknown:
            await self.clusters[name].try_refresh()
        self._look_at_topics(wanted)
        asked = (self._ask(name, node, some) for (name, node, _), some in groups.items())
        return any(await asyncio.gather(*asked))

    async def _ask(self, name: str, node: int, some: Sequence[_Reading]) -> bool:
        cluster = self.clusters[name]
        by_place = {(each.span.lane.topic_id, each.span.lane.partition): each for each in some}
        request = FetchRequest(
            [
                FetchPosition(*place, each.position, each.wanted_bytes)
                for place, each in by_place.items()
            ],
            wait_ms=WAIT_MS,
            bytes_max=RESPONSE_BYTES_MAX,
            read_committed=True,
        )
        try:
            response = await cluster.send(node, request, "read")
        except (OSError, KafkaError, TimeoutError, KeyError, Unreachable) as error:
            cluster.trouble = f"{name}: Fetch: {error_text(error)}"
            return False
        if response.error_code:
            cluster.trouble = f"{name}: Fetch: {named(response.error_code)}"
            return False
        is_moving = False
        is_filled = any(row[7] for _, rows, _ in response.topics for row in rows)
        for topic_id, rows, _ in response.topics:
            for row in rows:
                reading = by_place.get((topic_id, row[0]))
                if reading is not None and row[1]:
                    await self._failed(cluster, reading, row[1])
                elif reading is not None:
                    is_moving |= reading.take(row, is_filled=is_filled)
                    if reading.is_cut:
                        await self._find_cut(cluster, reading)
        return is_moving

    async def _find_cut(self, cluster: Cluster, reading: _Reading) -> None:
        """Asks where a log was cut. Raises RangeLost, Forbidden."""
        span, reading.is_cut = reading.span, False
        cut = await self._epoch_end(cluster, span)
        if cut < span.end:
            loss = Loss(LossKind.SOURCE_TRUNCATED, cut, span.end, CUT_DETAIL)
            raise RangeLost(span.lane, loss)

    async def _epoch_end(self, cluster: Cluster, span: LaneSpan) -> int:
        """Returns the end of a span's epoch in its log of today, or of the span, whichever comes
        first. Raises Forbidden."""
        if span.epoch < 0:
            return span.end
        try:
            async with asyncio.timeout(self.patience_seconds):
                found = await cluster.epoch_end(span.lane.topic, span.lane.partition, span.epoch)
        except Forbidden:
            raise
        except (Answered, TimeoutError):
            return span.end
        return min(found, span.end) if found >= 0 else span.end

    async def _failed(self, cluster: Cluster, reading: _Reading, code: int) -> None:
        """Takes in an error of a partition. Raises RangeLost, Forbidden."""
        span, position = reading.span, reading.position
        name = f"{cluster.name}: Fetch {span.lane.topic}-{span.lane.partition}"
        cluster.trouble = f"{name}: {named(code)}"
        if verdict(code) is Verdict.FORBIDDEN:
            raise Forbidden(name, [code])
        if verdict(code) is Verdict.POISON:
            reading.doubt = Loss(LossKind.SOURCE_CORRUPT, position, None, named(code))
        elif code == Code.OFFSET_OUT_OF_RANGE:
            place = span.lane.topic, span.lane.partition
            try:
                async with asyncio.timeout(self.patience_seconds):
                    start, end = await cluster.log_start(*place), await cluster.log_end(*place)
            except (Answered, TimeoutError):
                return
            topic = cluster.topic(span.lane.topic)
            if topic is None or topic.id != span.lane.topic_id:
                return  # the offsets may be those of another topic
            if position < start:
                # A log's start never goes back.
                raise RangeLost(span.lane, Loss(LossKind.RETENTION_PASSED, position, start))
            if end < span.end:
                begin = min(end, await self._epoch_end(cluster, span))
                reading.doubt = Loss(LossKind.SOURCE_TRUNCATED, begin, span.end)

    def _look_at_topics(self, wanted: Sequence[_Reading]) -> None:
        """Notes the topics that are gone, or are others by now. Raises Forbidden."""
        for each in wanted:
            lane = each.span.lane
            cluster = self.clusters[lane.cluster]
            topic = cluster.topic(lane.topic)
            if topic is not None and topic.id != lane.topic_id:
                each.doubt = Loss(LossKind.SOURCE_RECREATED, each.position, each.span.end)
            elif topic is None and cluster.is_refused(lane.topic):
                name = f"{cluster.name}: Metadata {lane.topic}"
                raise Forbidden(name, [Code.TOPIC_AUTHORIZATION_FAILED])
            elif topic is None and cluster.missing_seconds(lane.topic):
                each.doubt = Loss(LossKind.SOURCE_DELETED, each.position, each.span.end)

    def _given_up(self, readings: Sequence[_Reading]) -> Exception:
        for each in readings:
            if each.doubt is not None:
                return RangeLost(each.span.lane, each.doubt)
        lane = next(each.span.lane for each in readings if not each.is_done)
        why = self.clusters[lane.cluster].trouble or f"{lane.cluster} does not answer"
        return RangeAway(f"{why} (for {self.patience_seconds:g} s)")


def _topics(readings: Sequence[_Reading]) -> dict[str, set[str]]:
    found: defaultdict[str, set[str]] = defaultdict(set)
    for each in readings:
        found[each.span.lane.cluster].add(each.span.lane.topic)
    return dict(found)
