"""Row facts: the rows of a tick's records, each with its key, order, time and whether it deletes.

All of it is a function of the tick, the records and the settings: a task that reads the same
records again finds the same rows, and the same dead letters. Times are compared with that of the
tick, never with a clock.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from aggregator.formats.decoders import Decoder
from aggregator.formats.record_slice import NO_TIME, RecordSlice
from aggregator.tables.column_type import TIMES, ColumnType, column_type
from aggregator.tables.decoded import Decoded, Ints, Mask
from aggregator.tables.table_schema import OWN_COLUMNS, TableSchema
from aggregator.upsert.facts import FACTS, LaneNote
from aggregator.upsert.key_hash import key_hashes
from aggregator.upsert.key_values import key_rows, merged
from aggregator.upsert.table_names import UPSERT_COLUMNS
from aggregator.upsert.tick import ROW_BITS, Tick
from aggregator.upsert.version import ORDER_MIN
from aggregator.upsert.visibility import admitted_since_ms

SECONDS_MAX = (1 << 32) - 1
"""Last second that a DateTime has."""
_MS_MAX = 9 * 10**15
"""Larger than any time in milliseconds that a column of another unit than seconds has."""
_DAY_MS = 86_400_000


class RowRules(Protocol):
    """Settings of an upsert table that say what a record means."""

    @property
    def name(self) -> str: ...

    @property
    def primary_key(self) -> Sequence[str]: ...

    @property
    def newest_column(self) -> str | None: ...

    @property
    def delete_column(self) -> str | None: ...

    @property
    def empty_value_deletes(self) -> bool: ...

    @property
    def retention_hours(self) -> float: ...

    @property
    def future_seconds_max(self) -> float: ...


@dataclass(frozen=True, slots=True, eq=False)
class LaneRecords:
    """Records of a lane, in offset order."""

    lane: int
    records: RecordSlice


@dataclass(frozen=True, slots=True, eq=False)
class TickRows:
    """Rows of consecutive records of a tick, by row id.

    Args:
        decoded: values of the rows, with the offsets of their records.
        order: see Version.order.
        time_s: Unix time in seconds by which retention goes.
        key: hash of the key.
        notes: counts and dead letters of each lane that had a record.
    """

    decoded: Decoded
    lane: Ints
    row_id: Ints
    order: Ints
    time_s: Ints
    is_delete: Mask
    key: pa.Array
    notes: tuple[LaneNote, ...] = ()

    def __len__(self) -> int:
        return len(self.row_id)

    @property
    def facts(self) -> pa.RecordBatch:
        """The rows without their values: columns FACTS."""
        arrays = [
            self.key.cast(pa.binary()),
            pa.array(self.order),
            pa.array(self.lane.astype(np.int32)),
            pa.array(self.decoded.offset),
            pa.array(self.decoded.row.astype(np.int32)),
            pa.array(self.row_id),
            pa.array(self.is_delete),
            pa.nulls(len(self), pa.binary()),
        ]
        return pa.RecordBatch.from_arrays(arrays, schema=FACTS)

    def where(self, mask: Mask) -> TickRows:
        """Returns some of the rows: True for each row to take. Notes stay as they are."""
        decoded = replace(self.decoded.where(mask), dead=self.decoded.dead)
        return TickRows(
            decoded,
            self.lane[mask],
            self.row_id[mask],
            self.order[mask],
            self.time_s[mask],
            self.is_delete[mask],
            self.key.filter(pa.array(mask)),
            self.notes,
        )


def user_schema(schema: TableSchema, name: str) -> TableSchema:
    """Returns the table as records are written for it: its user's columns.

    Args:
        schema: of the table of rows.
        name: by which Avro schemas, Protobuf messages and row batches name the table.
    """
    own = UPSERT_COLUMNS.keys() | OWN_COLUMNS.keys()
    columns = tuple(each for each in schema.columns if each.name not in own)
    return replace(schema, table=name, columns=columns)


@dataclass(frozen=True, eq=False)
class RowReading:
    """Reading of a tick's records as rows of a table.

    Args:
        schema: of the table of rows.
        decode: decoder of the feed's format.
        is_json: the format is json, so that a Kafka key may be an object.
    """

    tick: Tick
    rules: RowRules
    schema: TableSchema
    decode: Decoder
    is_json: bool = False

    def rows(self, parts: Sequence[LaneRecords]) -> TickRows:
        """Returns the rows of records.

        Args:
            parts: in the order of lanes and offsets.
        """
        numbered = [self._numbered(each) for each in parts if len(each.records)]
        decoded, is_bare = self._decoded(numbered)
        is_delete = is_bare | self._is_marked(decoded)
        # In `decoded`, the number of a record within the tick stands in place of its offset.
        number = decoded.offset
        counts = _Counts(self, numbered, dict(_reasons(decoded)))
        many = decoded.row >= self.tick.rows_per_record
        counts.refuse(number[many], f"has more rows than {self.tick.rows_per_record}")
        for name in self.rules.primary_key:
            missing = _is_null(decoded, name)
            counts.refuse(number[missing], f"{name}: is missing, and part of the primary key")
        order, time_ms, has_order, goes_by_stamp = self._order(decoded, is_bare)
        no_stamp = goes_by_stamp & (decoded.timestamp_ms == NO_TIME)
        counts.refuse(number[no_stamp], "the record has no timestamp, by which it would be kept")
        newest = self.rules.newest_column
        counts.refuse(number[~has_order], f"{newest}: is missing, and says which row is the newest")
        ahead_ms = round(self.rules.future_seconds_max * 1000)
        is_ahead = time_ms > self.tick.time_ms + ahead_ms
        for at in np.flatnonzero(is_ahead & has_order).tolist():
            what = newest if newest and self._newest_is_time else "the record's timestamp"
            text = (
                f"{what}: {int(time_ms[at]) // 1000} s since 1970 is more than "
                f"{self.rules.future_seconds_max:g} s ahead of the tick"
            )
            counts.refuse_future(int(number[at]), text)
        is_alive = ~counts.are_dead(number)
        oldest_ms = admitted_since_ms(self.tick.time_ms, self.rules.retention_hours)
        is_expired = is_alive & (time_ms < oldest_ms)
        kept = is_alive & ~is_expired
        notes = counts.notes(number[kept], number[is_expired])
        chosen, number = decoded if kept.all() else decoded.where(kept), number[kept]
        lane, offset = self.places(number)
        types = [self._types[name] for name in self.rules.primary_key]
        keys = [chosen.columns.get(name) for name in self.rules.primary_key]
        hashes = key_hashes(keys, types) if len(chosen) else pa.array([], pa.binary(16))
        row_id = (self.tick.number << ROW_BITS) + number * self.tick.rows_per_record + chosen.row
        return TickRows(
            replace(chosen, offset=offset),
            lane,
            row_id,
            order[kept],
            np.clip(time_ms[kept] // 1000, 0, SECONDS_MAX),
            is_delete[kept],
            hashes,
            notes,
        )

    def places(self, number: Ints) -> tuple[Ints, Ints]:
        """Returns lane and offset of records by their number within the tick."""
        # Of lanes that begin at the same number, the last one is not empty.
        lane = np.searchsorted(self._firsts, number, side="right") - 1
        return lane, self._begins[lane] + number - self._firsts[lane]

    @cached_property
    def _begins(self) -> Ints:
        return np.array([each.begin for each in self.tick.ranges], np.int64)

    @cached_property
    def _firsts(self) -> Ints:
        """Number of the first record of each lane."""
        sizes = np.array([each.end - each.begin for each in self.tick.ranges], np.int64)
        return np.cumsum(sizes) - sizes

    @cached_property
    def _types(self) -> Mapping[str, ColumnType]:
        names = {*self.rules.primary_key, self.rules.newest_column, self.rules.delete_column}
        return {
            each.name: column_type(each.type) for each in self.schema.columns if each.name in names
        }

    @cached_property
    def _user_schema(self) -> TableSchema:
        return user_schema(self.schema, self.rules.name)

    @property
    def _newest_is_time(self) -> bool:
        newest = self.rules.newest_column
        return newest is not None and self._types[newest].base in TIMES

    def _numbered(self, part: LaneRecords) -> RecordSlice:
        """Returns records with their numbers within the tick in place of their offsets: a decoder
        then tells apart the records of several lanes."""
        shift = int(self._firsts[part.lane]) - self.tick.ranges[part.lane].begin
        return replace(part.records, offset=part.records.offset + shift)

    def _decoded(self, slices: Sequence[RecordSlice]) -> tuple[Decoded, Mask]:
        """Returns the rows of records, and True for each of an empty value that deletes its key."""
        if not self.rules.empty_value_deletes:
            decoded = self.decode(slices, self._user_schema)
            return decoded, np.zeros(len(decoded), np.bool_)
        values, empties = [], []
        for part in slices:
            is_empty = part.value_end <= part.value_begin
            values.append(part if not is_empty.any() else part.at(np.flatnonzero(~is_empty)))
            if is_empty.any():
                empties.append(part.at(np.flatnonzero(is_empty)))
        decoded = self.decode([each for each in values if len(each)], self._user_schema)
        if not empties:
            return decoded, np.zeros(len(decoded), np.bool_)
        names = (*self.rules.primary_key, *filter(None, [self.rules.newest_column]))
        columns = tuple(each for each in self._user_schema.columns if each.name in names)
        schema = replace(self._user_schema, columns=columns)
        deletes = key_rows(empties, schema, self.rules.primary_key, is_json=self.is_json)
        found = merged(decoded, deletes)
        is_bare: Mask = np.isin(found.offset, deletes.offset)
        return found, is_bare

    def _is_marked(self, decoded: Decoded) -> Mask:
        """Returns True for each row whose delete column says so."""
        name = self.rules.delete_column
        values = decoded.columns.get(name) if name else None
        if values is None:
            return np.zeros(len(decoded), np.bool_)
        if pa.types.is_large_binary(values.type):
            values = pc.binary_length(values)
        marked: Mask = np.asarray(pc.fill_null(pc.not_equal(values, 0), False))
        return marked

    def _order(self, decoded: Decoded, is_empty: Mask) -> tuple[Ints, Ints, Mask, Mask]:
        """Returns order and time in milliseconds of each row, False where there is no order, and
        True where the time is the record's timestamp."""
        stamps, everywhere = decoded.timestamp_ms, np.ones(len(decoded), np.bool_)
        name = self.rules.newest_column
        if name is None:
            return stamps, stamps, everywhere, everywhere
        kind = self._types[name]
        values = decoded.columns.get(name, pa.nulls(len(decoded), kind.arrow))
        has_value: Mask = np.asarray(values.is_valid())
        order = _as_order(values)
        if not self._newest_is_time:
            return order, stamps, has_value, everywhere
        # A record with an empty value has no other time than its own.
        is_bare = is_empty & ~has_value
        order = np.where(is_bare, _in_unit(kind, stamps), order)
        return order, _milliseconds(kind, order), has_value | is_bare, is_bare


@dataclass(eq=False)
class _Counts:
    """Dead letters of some records by number, and counts."""

    reading: RowReading
    slices: Sequence[RecordSlice]
    dead: dict[int, str]
    future: set[int] = field(default_factory=set)

    def refuse(self, numbers: Ints, why: str) -> None:
        for number in np.unique(numbers).tolist():
            self.dead.setdefault(number, why)

    def refuse_future(self, number: int, why: str) -> None:
        if number not in self.dead:
            self.dead[number] = why
            self.future.add(number)

    def are_dead(self, numbers: Ints) -> Mask:
        found: Mask = np.isin(numbers, np.array(list(self.dead), np.int64))
        return found

    def notes(self, rows: Ints, expired: Ints) -> tuple[LaneNote, ...]:
        """Returns a note for each lane that has a record.

        Args:
            rows, expired: numbers of the records of rows that are kept, and of those that are not.
        """
        lanes = {int(self.reading.places(each.offset[:1])[0][0]) for each in self.slices}
        rows_of = self._by_lane(rows)
        expired_of = self._by_lane(expired)
        future_of = self._by_lane(np.array(sorted(self.future), np.int64))
        letters: dict[int, list[tuple[int, str]]] = {}
        numbers = np.array(sorted(self.dead), np.int64)
        where, offsets = self.reading.places(numbers)
        for number, lane, offset in zip(
            numbers.tolist(), where.tolist(), offsets.tolist(), strict=True
        ):
            letters.setdefault(lane, []).append((offset, self.dead[number]))
        return tuple(
            LaneNote(
                lane,
                rows_of.get(lane, 0),
                expired_of.get(lane, 0),
                future_of.get(lane, 0),
                tuple(letters.get(lane, ())),
            )
            for lane in sorted(lanes)
        )

    def _by_lane(self, numbers: Ints) -> dict[int, int]:
        lane, _ = self.reading.places(numbers)
        return dict(
            zip(*(each.tolist() for each in np.unique(lane, return_counts=True)), strict=True)
        )


def _reasons(decoded: Decoded) -> Sequence[tuple[int, str]]:
    return [(each.offset, each.reason) for each in decoded.dead]


def _is_null(decoded: Decoded, name: str) -> Mask:
    values = decoded.columns.get(name)
    if values is None:
        return np.ones(len(decoded), np.bool_)
    found: Mask = np.asarray(values.is_null())
    return found


def _as_order(values: pa.Array) -> Ints:
    """Returns numbers whose order is that of the values; 0 for null."""
    whole = np.asarray(pc.fill_null(values, 0))
    if whole.dtype == np.uint64:
        # The least of them becomes the least that has a sign.
        flipped: Ints = (whole ^ np.uint64(1 << 63)).view(np.int64)
        return flipped
    return whole.astype(np.int64)


def _milliseconds(kind: ColumnType, ticks: Ints) -> Ints:
    """Returns values of a time column in milliseconds, floored."""
    if kind.base in ("Date", "Date32"):
        return ticks * _DAY_MS
    power = 3 - kind.scale
    if power < 0:
        floored: Ints = ticks // 10**-power
        return floored
    exact: Ints = np.clip(ticks, -_MS_MAX, _MS_MAX) * 10**power
    return exact


def order_since(kind: str | None, since_s: int) -> int:
    """Returns the order before which a row's `_time` is before some time.

    Args:
        kind: type of the column that says which row is the newest; None: the record's timestamp.
        since_s: begin of a UTC day, in Unix seconds.

    Returns:
        ORDER_MIN if that is no time, as the order does not tell a row's time then.
    """
    if not since_s:
        return ORDER_MIN
    if kind is None:
        return since_s * 1000
    column = column_type(kind)
    if column.base not in TIMES:
        return ORDER_MIN
    return int(_in_unit(column, np.array([since_s * 1000], np.int64))[0])


def _in_unit(kind: ColumnType, time_ms: Ints) -> Ints:
    """Returns milliseconds as values of a time column, floored."""
    if kind.base in ("Date", "Date32"):
        return time_ms // _DAY_MS
    power = kind.scale - 3
    if power < 0:
        floored: Ints = time_ms // 10**-power
        return floored
    limit = (2**63 - 1) // 10**power
    exact: Ints = np.clip(time_ms, -limit, limit) * 10**power
    return exact
