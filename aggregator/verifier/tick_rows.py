"""Tick rows: the rows of some ticks on one replica against the claims and the records. Pure."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import NamedTuple

from aggregator.upsert.tick import ROW_BITS, Lane, Stop, tick_of
from aggregator.verifier.claim_history import Claim
from replicator.kafka.client.loss import LossKind


class StoredRow(NamedTuple):
    """Row as a replica has it, with the partition that it names."""

    row_id: int
    key: bytes
    order: int
    place: tuple[str, str, int]
    offset: int
    row: int
    is_delete: bool
    until: int


class LoggedRow(NamedTuple):
    """Row that a record stands for.

    Args:
        timestamp_ms: of the record.
        time_s: by which the retention of the row goes, in Unix seconds.
        is_bare: the record has an empty value, which deletes its key.
    """

    timestamp_ms: int
    time_s: int
    is_bare: bool = False


@dataclass(frozen=True, slots=True)
class LaneLog:
    """Records of a lane.

    Args:
        begin: first offset that was read; those before are gone from the log.
        rows: by offset and number in the record.
        dead: number of records that stand for no row, as they cannot be read.
        is_compacted: the log may have lost records.
    """

    begin: int
    rows: Mapping[tuple[int, int], LoggedRow]
    dead: int = 0
    is_compacted: bool = False


@dataclass(slots=True)
class RowDifference:
    """Rows that differ, by id, and the others.

    Args:
        missing: number of the rows that are neither there nor accounted for.
        candidates: places of the records without rows, some of which may be expired or dead
            letters: lane, offset, number in the record.
        uncompared: number of the rows of offsets that had records of two logs.
        right: rows that are where they have to be, by id.
        texts: reasons.
    """

    missing: int = 0
    surplus: list[int] = field(default_factory=list)
    doubled: list[int] = field(default_factory=list)
    changed: list[int] = field(default_factory=list)
    compacted: int = 0
    uncompared: int = 0
    candidates: list[tuple[int, int, int]] = field(default_factory=list)
    right: dict[int, StoredRow] = field(default_factory=dict)
    texts: list[str] = field(default_factory=list)


class Ticks:
    """Ranges of consecutive ticks, as their claims tell them.

    Args:
        claims: of the ticks, and of the one before them if there is one.
        first: the first of the ticks.
        lanes: all lanes of the table, by number.
        cuts: see cut_offsets.
    """

    def __init__(
        self,
        claims: Sequence[Claim],
        first: int,
        lanes: Sequence[Lane],
        cuts: Mapping[int, Sequence[range]] = MappingProxyType({}),
    ) -> None:
        self.claims = {each.tick: each for each in claims}
        self.first = first
        self.cuts = cuts
        self.lane_of = {
            (each.cluster, each.topic, each.partition): number for number, each in enumerate(lanes)
        }

    def begin(self, tick: int, lane: int) -> int:
        """Returns the begin of a lane's range: 0 for a lane that joins, whose begin no claim tells.

        A range never begins before the one before ended, but where a log was cut.
        """
        before = self.claims.get(tick - 1)
        begin = before.ends[lane] if before and lane < len(before.ends) else 0
        return min(begin, self.end(tick, lane))

    def end(self, tick: int, lane: int) -> int:
        """Returns the end of a lane's range."""
        ends = self.claims[tick].ends
        return ends[lane] if lane < len(ends) else 0

    def first_number(self, tick: int, lane: int, rows_per_record: int) -> int:
        """Returns the number of the first row of a lane's range within the tick; too large where a
        lane before it joins, or goes on behind a loss."""
        spans = (self.end(tick, each) - self.begin(tick, each) for each in range(lane))
        return sum(spans) * rows_per_record

    def is_cut(self, lane: int, offset: int) -> bool:
        """Returns True for an offset that had records of two logs."""
        return any(offset in each for each in self.cuts.get(lane, ()))

    def bounds(self, lane: int) -> tuple[int, int]:
        """Returns the offsets of a lane that the ticks take."""
        own = [each for each in self.claims if each >= self.first]
        begins = [self.begin(each, lane) for each in own]
        return min(begins, default=0), max((self.end(each, lane) for each in own), default=0)


def cut_offsets(claims: Mapping[int, Claim], stops: Iterable[Stop]) -> dict[int, tuple[range, ...]]:
    """Returns the offsets of lanes at which logs were cut, by lane: they had records of a log of
    before, and may have others since. Rows of both stay.

    Args:
        claims: by tick. The ends of a lane that goes on at a cut fall.
        stops: of the newest tick.
    """
    found: defaultdict[int, set[range]] = defaultdict(set)
    for tick, claim in claims.items():
        before = claims.get(tick - 1)
        ends = zip(before.ends, claim.ends, strict=False) if before else ()
        for lane, (old, new) in enumerate(ends):
            if new < old:
                found[lane].add(range(new, old))
    for lane, loss, _ in stops:
        if loss.kind is LossKind.SOURCE_TRUNCATED and loss.end is not None:
            found[lane].add(range(loss.begin, loss.end))
    return {lane: tuple(sorted(some, key=lambda each: each.start)) for lane, some in found.items()}


def compared_rows(
    ticks: Ticks,
    rows: Iterable[StoredRow],
    logs: Mapping[int, LaneLog],
    rows_per_record: int,
    *,
    is_ordered_by_timestamp: bool,
    dropped_before_s: int = 0,
    may_lack: Container[int] = (),
) -> RowDifference:
    """Compares the rows of ticks with their claims and with the records.

    Args:
        rows: of the ticks, each as often as it is there.
        logs: by lane; a lane whose records cannot be read is left out.
        dropped_before_s: Unix time before which rows may be dropped, as their days are over.
        may_lack: ticks that may have such rows, so that they have fewer than they claim.
    """
    result = RowDifference()
    places: dict[tuple[int, int, int], int] = {}
    for row in _placed(ticks, rows, rows_per_record, result):
        lane = ticks.lane_of[row.place]
        place = lane, row.offset, row.row
        if row.row_id in result.right:
            result.doubled.append(row.row_id)
        elif ticks.is_cut(lane, row.offset):
            result.uncompared += 1
            result.right[row.row_id] = row
        elif place in places:
            result.surplus.append(row.row_id)
            result.texts.append(f"row {_named(row)} has two ids: {places[place]} and {row.row_id}")
        else:
            places[place] = row.row_id
            result.right[row.row_id] = row
    for lane, log in logs.items():
        result.candidates += [
            (lane, *it)
            for it, logged in log.rows.items()
            if (lane, *it) not in places
            and logged.time_s >= dropped_before_s
            and not ticks.is_cut(lane, it[0])
        ]
    for (lane, offset, number), row_id in places.items():
        of_lane = logs.get(lane)
        if of_lane is None or offset < of_lane.begin:
            continue
        logged, row = of_lane.rows.get((offset, number)), result.right[row_id]
        if logged is None and of_lane.is_compacted:
            result.compacted += 1
        elif logged is None:
            del result.right[row_id]
            result.surplus.append(row_id)
            result.texts.append(f"row {_named(row)} is of a record that the topic does not have")
        elif (is_ordered_by_timestamp and row.order != logged.timestamp_ms) or (
            logged.is_bare and not row.is_delete
        ):
            result.changed.append(row_id)
            result.texts.append(f"row {_named(row)} has another order, or another delete mark")
    result.candidates.sort()
    _count_missing(ticks, result, sum(each.dead for each in logs.values()), may_lack)
    return result


def _placed(
    ticks: Ticks, rows: Iterable[StoredRow], rows_per_record: int, result: RowDifference
) -> list[StoredRow]:
    """Returns the rows that are in a range of their tick, with the number that it gives them."""
    found: list[StoredRow] = []
    shifts: defaultdict[tuple[int, int], Counter[int]] = defaultdict(Counter)
    for row in rows:
        tick, lane = tick_of(row.row_id), ticks.lane_of.get(row.place)
        if tick not in ticks.claims or lane is None:
            is_taken = False
        else:
            is_taken = ticks.begin(tick, lane) <= row.offset < ticks.end(tick, lane)
        if not is_taken or lane is None:
            result.surplus.append(row.row_id)
            result.texts.append(
                f"row {row.row_id} is of {_named(row)}, which its tick did not take"
            )
            continue
        found.append(row)
        shifts[tick, lane][_shift(row, rows_per_record)] += 1
    common = {}
    for (tick, lane), counts in shifts.items():
        exact = ticks.first_number(tick, lane, rows_per_record)
        exact -= ticks.begin(tick, lane) * rows_per_record
        [(common[tick, lane], most)] = counts.most_common(1)
        if counts[exact] == most:
            common[tick, lane] = exact
    kept = []
    for row in found:
        tick, lane = tick_of(row.row_id), ticks.lane_of[row.place]
        if _shift(row, rows_per_record) == common[tick, lane]:
            kept.append(row)
        else:
            result.surplus.append(row.row_id)
            result.texts.append(f"row {row.row_id} is of {_named(row)}, whose id is another one")
    return kept


def _shift(row: StoredRow, rows_per_record: int) -> int:
    number = row.row_id & ((1 << ROW_BITS) - 1)
    return number - row.offset * rows_per_record - row.row


def _count_missing(
    ticks: Ticks, result: RowDifference, dead: int, may_lack: Container[int]
) -> None:
    """Counts rows that are not there: those that a claim counts, and records that are no rows and
    that no claim counts as expired or as dead letters.

    Args:
        dead: number of the dead letters that stand for no row.
    """
    found = Counter(map(tick_of, result.right))
    claims = [each for tick, each in ticks.claims.items() if tick >= ticks.first]
    short = sum(
        max(0, each.rows - found[each.tick]) for each in claims if each.tick not in may_lack
    )
    letters = sum(each.letters for each in claims) - dead
    expired = sum(each.expired for each in claims)
    # Expired are rows, and dead letters are records: those with the most rows, in the best case.
    sizes = Counter((lane, offset) for lane, offset, _ in result.candidates)
    excused = expired + sum(sorted(sizes.values(), reverse=True)[: max(letters, 0)])
    unread = max(0, -letters)
    result.missing = max(short, len(result.candidates) - excused, 0) + unread
    if unread:
        result.texts.append(
            f"{unread} records are missing: they cannot be read, and are no letters"
        )
    if result.missing > unread:
        result.texts.append(_where(result, result.missing - unread, excused))


def _where(result: RowDifference, missing: int, excused: int) -> str:
    some = [f"{offset} of lane {lane}" for lane, offset, _ in result.candidates[:5]]
    among = "among " if excused else ""
    more = len(result.candidates) - len(some)
    listed = ", ".join(some) + (f" and {more} more" if more > 0 else "")
    return f"{missing} rows are missing: {among}offsets {listed or 'unknown'}"


def _named(row: StoredRow) -> str:
    cluster, topic, partition = row.place
    number = f", row {row.row}" if row.row else ""
    return f"{cluster} {topic}-{partition} offset {row.offset}{number}"
