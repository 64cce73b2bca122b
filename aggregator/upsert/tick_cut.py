"""Cut: the next tick of an upsert table, from the tick before and from the logs of its partitions.

A range begins where the range of the tick before ended, so that each record is in one tick. Where
the log does not allow that, the lane is stopped and the loss is named: nothing is passed over until
an operator accepts it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import NamedTuple

from aggregator.upsert.tick import BLOCK_ROWS, ROWS_MAX, TICK_MAX, Lane, LaneRange, Stop, Tick
from replicator.config.settings import BLOCK_ROWS_MAX
from replicator.kafka.client.loss import LogView, Loss, LossKind, source_loss

RECORDS_MAX = 500_000
"""Most offsets of a tick by default."""
_GONE = (LossKind.SOURCE_DELETED, LossKind.SOURCE_RECREATED)
"""Losses behind which a lane has nothing more."""


class LaneLog(NamedTuple):
    """Log of a partition.

    Args:
        start: first offset that retention has left.
        end: offset before which all records may be read; of a partition with transactions the last
            stable offset.
        epoch: leader epoch in which the end was told; -1: not known.
        epoch_end: end, in this log, of the leader epoch that the tick before names for the lane; -1
            where that is the epoch of today, or the leader does not know it.
        went_back: loss of a lane whose leaders have gone back to older epochs.
    """

    start: int
    end: int
    epoch: int = -1
    epoch_end: int = -1
    went_back: Loss | None = None


Logs = Mapping[Lane, LaneLog | None]
"""Partitions of a table's topics, as the clusters that answer show them; None for a log that cannot
be read now, as the partition has no leader."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CutSettings:
    """Settings of a table that its ticks follow.

    Args:
        records_max: most offsets of a tick.
        rows_per_record: see Tick.
        block_rows: most rows of a block, if each record is one row.
    """

    records_max: int = RECORDS_MAX
    rows_per_record: int = 1
    block_rows: int = BLOCK_ROWS

    @property
    def offsets_max(self) -> int:
        """Most offsets of a tick, all of whose rows have numbers."""
        return min(self.records_max, ROWS_MAX // self.rows_per_record)

    @property
    def block_numbers(self) -> int:
        """Row numbers of a block: of as many records as an insert takes with all of their rows.

        Few records have as many rows as there are numbers for, so that with as many numbers as rows
        a tick would become thousands of small inserts.
        """
        records = min(self.block_rows, BLOCK_ROWS_MAX // self.rows_per_record)
        return max(1, records) * self.rows_per_record


@dataclass(frozen=True, slots=True)
class Cut:
    """Result of a cut.

    Args:
        tick: None if there is nothing to do.
        losses: by lane, of those that take nothing until an operator accepts the loss.
        left: offsets that are left to later ticks, as the tick would have been too large.
    """

    tick: Tick | None
    losses: Mapping[int, Loss] = field(default_factory=lambda: MappingProxyType({}))
    left: int = 0


class OutOfTicks(Exception):
    """A table has had all ticks that its columns can hold. Create it anew."""


def tick_zero(generation: int) -> Tick:
    """Returns what stands for the tick before a table's first one: it has no lanes."""
    return Tick(generation, 0, 0)


def cut(
    before: Tick,
    logs: Logs,
    answering: Collection[str],
    clock_ms: int,
    settings: CutSettings,
    *,
    accepted: Mapping[int, Loss] = MappingProxyType({}),
    is_refresh_due: bool = False,
) -> Cut:
    """Returns the next tick. Raises OutOfTicks.

    Lanes that the table did not have yet join behind the others, in the order of cluster, topic
    and partition, and begin at the start of their log. The lanes of a topic that was created anew
    are other lanes. A lane that is stopped takes nothing.

    Args:
        before: the newest tick, which is claimed; `tick_zero` for the first cut.
        answering: clusters that have shown all their partitions. Lanes of others are away: they
            take nothing, and nothing is lost.
        clock_ms: Unix time.
        accepted: losses that an operator accepted, by lane, as the stops of `before` name them.
            Where the log goes on, so does the lane: behind what retention deleted, or where a log
            was cut and is written anew. A lane that goes back takes nothing in the first tick, so
            that the ends of claims show where.
        is_refresh_due: return a tick even if it takes nothing, as its committed offsets expire.
    """
    if before.number >= TICK_MAX:
        raise OutOfTicks(f"tick {before.number} is the last one that row ids can name")
    joining = {lane: log for lane, log in logs.items() if log is not None}
    new = sorted(set(joining) - set(before.lanes))
    lanes = (*before.lanes, *new)
    begins = [*before.ends, *(joining[lane].start for lane in new)]
    was_stopped = {each.lane: each for each in before.stops}
    stops = []
    backlogs = []
    epochs = [*(before.epoch(number) for number in range(len(before.lanes))), *(-1 for _ in new)]
    for number, lane in enumerate(lanes):
        begins[number], stop = _continued(
            was_stopped.get(number), accepted.get(number), begins[number], lane in logs
        )
        loss = None if stop else _loss(lane, begins[number], logs, answering)
        if loss is not None and _is_given_up(loss, number, before.gaps):
            begins[number] = loss.begin
        elif loss is not None:
            stop = Stop(number, loss)
        if stop is not None:
            stops.append(stop)
        log = logs.get(lane) if stop is None else None
        if log is not None:
            epochs[number] = log.epoch
        goes_back = number < len(before.ranges) and begins[number] < before.ranges[number].end
        backlogs.append(log.end - begins[number] if log and not goes_back else 0)
    shares = fair_shares(backlogs, settings.offsets_max, first=before.number)
    losses = {each.lane: each.loss for each in stops if not each.is_accepted}
    # A lane joins without a record too: what its log loses from then on is named.
    is_same = tuple(stops) == before.stops and tuple(begins) == before.ends
    if is_same and not any(shares) and not is_refresh_due:
        return Cut(None, losses)
    tick = Tick(
        before.generation,
        before.number + 1,
        max(before.time_ms, clock_ms),
        lanes,
        tuple(LaneRange(begin, begin + it) for begin, it in zip(begins, shares, strict=True)),
        settings.rows_per_record,
        settings.block_numbers,
        tuple(stops),
        epochs=tuple(epochs) if max(epochs, default=-1) >= 0 else (),
    )
    return Cut(tick, losses, sum(backlogs) - sum(shares))


def fair_shares(backlogs: Sequence[int], most: int, *, first: int = 0) -> list[int]:
    """Returns how many offsets of each backlog a tick takes: as equal shares as can be.

    Args:
        most: sum of the shares.
        first: changes from tick to tick by one. What equal shares leave over goes to lanes in
            turn, from this number on, so that with fewer offsets than lanes each has its turn.
    """
    left, level = most, 0
    by_size = sorted(backlogs)
    for place, size in enumerate(by_size):
        others = len(by_size) - place
        if size * others > left:
            level, left = divmod(left, others)
            break
        level, left = size, left - size
    else:
        return list(backlogs)
    shares = [min(size, level) for size in backlogs]
    for step in range(len(backlogs)):
        lane = (first + step) % len(backlogs)
        if left and backlogs[lane] > level:
            shares[lane] += 1
            left -= 1
    return shares


def _continued(
    stop: Stop | None, accepted: Loss | None, begin: int, is_there: bool
) -> tuple[int, Stop | None]:
    """Returns where a lane goes on, and its stop if it stays stopped.

    Args:
        is_there: its topic exists, under the lane's topic id.
    """
    if stop is None:
        return begin, None
    loss = stop.loss
    if loss.kind in _GONE:
        if is_there:  # a cluster did not show it for a while
            return begin, None
        return begin, stop._replace(is_accepted=stop.is_accepted or accepted == loss)
    if accepted != loss:
        return begin, stop
    if loss.kind is LossKind.RETENTION_PASSED and loss.end is not None:
        return loss.end, None
    return loss.begin, None


def _loss(lane: Lane, begin: int, logs: Logs, answering: Collection[str]) -> Loss | None:
    if lane not in logs:
        return _gone(lane, begin, logs) if lane.cluster in answering else None
    log = logs[lane]
    if log is None:
        return None
    view = LogView(start=log.start, end=log.end, epoch_end=log.epoch_end)
    return log.went_back or source_loss(begin, view)


def _is_given_up(loss: Loss, lane: int, gaps: Iterable[Stop]) -> bool:
    """Returns True for the loss of a log that was cut within the tick before, where an operator has
    accepted it already."""
    return loss.kind is LossKind.SOURCE_TRUNCATED and any(
        each.is_accepted
        and each.lane == lane
        and each.loss.kind is loss.kind
        and each.loss.begin <= loss.begin
        for each in gaps
    )


def _gone(lane: Lane, begin: int, logs: Logs) -> Loss:
    for other in logs:
        if other[:2] == lane[:2] and other.topic_id != lane.topic_id:
            ids = f"topic id {other.topic_id} in place of {lane.topic_id}"
            return Loss(LossKind.SOURCE_RECREATED, begin, None, ids)
    return Loss(LossKind.SOURCE_DELETED, begin, None, f"topic id {lane.topic_id}")
