"""Seen rows: the rows of an upsert table that a query sees at a mark, as SQL. Pure.

At mark L, with the settle point S at or before it, a row is seen if it was there by L, and had not
ended by L: ends up to S are in the rows, those after S are read from the table of the ends. Its day
must not be over at L; the condition stands only where the server still has such days.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from aggregator.store.identifier import quoted
from aggregator.upsert.table_names import (
    DELETED,
    KEY,
    ROW_ID,
    TIME,
    UNTIL,
    rows_table,
    updates_table,
)
from aggregator.upsert.tick import OPEN, ROW_BITS
from aggregator.upsert.visibility import row_id_end

VALID_FROM, VALID_UNTIL, KAFKA_OFFSET = "$validFrom", "$validUntil", "$kafkaOffset"
VIRTUAL_COLUMNS = (VALID_FROM, VALID_UNTIL, KAFKA_OFFSET)
"""Columns that any query can name: the tick with which a row came, that at which it ended, and the
offset of its record."""
ROW_NUMBER, IS_DELETE, END_KIND, ENDED_BY = "$rowId", "$isDelete", "$endKind", "$endedBy"
VERSION_COLUMNS = (VALID_FROM, VALID_UNTIL, END_KIND, ENDED_BY, ROW_NUMBER, IS_DELETE)
"""Columns that stand behind the user's where a query sees all versions."""
ENDS = "_ends"
"""Name of the table of the ends within conditions."""
OFFSET = "_offset"
_TICK_ROWS = 1 << ROW_BITS


class UpsertNames(NamedTuple):
    """Upsert table as queries name it.

    Args:
        columns: of its user, in their order.
        key: columns of its primary key, if its rows are sorted by them; else empty.
    """

    table: str
    columns: tuple[str, ...]
    key: tuple[str, ...] = ()


class ReadMark(NamedTuple):
    """Mark at which a query reads a table.

    Args:
        tick: last one whose rows and ends are seen.
        settled: newest settle point at or before `tick`.
        known: tick up to which ends are told, in $validUntil; `tick` or later.
        is_all_versions: rows that ended by `tick` are seen as well, with what ended them.
        told_after: tick behind which ends of versions are told: those up to the horizon are gone,
            on one server after another.
        since_s: Unix time before which rows are not seen (shown_since_s of the tick); 0: the server
            has none that are so old.
    """

    tick: int
    settled: int
    known: int
    is_all_versions: bool = False
    since_s: int = 0
    told_after: int = 0


def seen(table: str, mark: ReadMark, of: str = "", of_key: str = "") -> str:
    """Returns the condition on a row of the table of all rows.

    Args:
        of: name of that table in the query; empty where no other table has its columns.
        of_key: condition that all rows of the answer meet and that holds for few keys: only ends of
            these keys are kept in memory.
    """
    front = f"{quoted(of)}." if of else ""
    born = f"{front}{ROW_ID} < {row_id_end(mark.tick)}"
    kept = [f"{front}{TIME} >= toDateTime({mark.since_s})"] if mark.since_s else []
    if mark.is_all_versions:
        # Rows of tick 0 are no versions of a key: see Pusher in settling.py.
        return " AND ".join([f"{front}{ROW_ID} >= {row_id_end(0)}", born, *kept])
    terms = [born, f"{front}{UNTIL} > {mark.tick}", *kept]
    if mark.settled < mark.tick:
        keys = f"(SELECT {KEY} FROM {rows_table(table)} WHERE {of_key})"
        terms.append(
            f"{front}{ROW_ID} NOT IN (SELECT {ENDS}.row_id FROM {updates_table(table)} AS {ENDS} "
            f"WHERE {ENDS}.tick > {mark.settled} AND {ENDS}.tick <= {mark.tick}"
            f"{f' AND {ENDS}.key IN {keys}' if of_key else ''})"
        )
    return " AND ".join(terms)


def expression(column: str, mark: ReadMark, of: str = "") -> str | None:
    """Returns a virtual column as an expression over the table of all rows.

    Returns None for one that takes the table of the ends as well.
    """
    front = f"{quoted(of)}." if of else ""
    match column:
        case "$validFrom":
            return f"intDiv({front}{ROW_ID}, {_TICK_ROWS})"
        case "$kafkaOffset":
            return f"{front}{OFFSET}"
        case "$validUntil" if mark.known == mark.tick and not mark.is_all_versions:
            return "CAST(NULL AS Nullable(UInt32))"  # All that is seen is open.
        case "$rowId":
            return f"{front}{ROW_ID}"
        case "$isDelete":
            return f"{front}{DELETED}"
    return None


def rows_at(
    names: UpsertNames, mark: ReadMark, extra: Mapping[str, str] = MappingProxyType({})
) -> str:
    """Returns the SELECT of the rows that are seen.

    Args:
        extra: virtual columns and coordinates that stand behind the user's, by their names there.
    """
    versions = VERSION_COLUMNS if mark.is_all_versions else ()
    ends = _end_expressions(mark)
    items = [quoted(name) for name in names.columns]
    is_joined = False
    for name, column in {**{each: each for each in versions}, **extra}.items():
        if not column.startswith("$"):
            items.append(quoted(column))
            continue
        text = expression(column, mark)
        is_joined |= text is None
        items.append(f"{text or ends[column]} AS {quoted(name)}")
    source = rows_table(names.table)
    if is_joined:
        first = mark.told_after if mark.is_all_versions else mark.tick
        source += (
            f" ANY LEFT JOIN (SELECT {ENDS}.row_id AS {ROW_ID}, {ENDS}.tick AS _end_tick, "
            f"toString({ENDS}.kind) AS _end_kind, {ENDS}.by_row_id AS _end_by "
            f"FROM {updates_table(names.table)} AS {ENDS} "
            f"WHERE {ENDS}.tick > {first} AND {ENDS}.tick <= {mark.known}) AS _ended USING {ROW_ID}"
        )
    return f"SELECT {', '.join(items)} FROM {source} WHERE {seen(names.table, mark)}"


def _end_expressions(mark: ReadMark) -> dict[str, str]:
    """Returns the virtual columns that take the table of the ends.

    A row that is settled has the settle point, which is not before its end; of ends whose history
    is over, only that is left. A row without an end has 0 in the ends' columns, or NULL if the
    user's profile has join_use_nulls.
    """
    settled = f"if({UNTIL} <= {mark.known}, {UNTIL}, {OPEN})"
    event = "ifNull(_end_tick, 0)"
    until = f"if({event} = 0, {settled}, least({event}, {settled}))"
    return {
        VALID_UNTIL: f"nullIf(toUInt32({until}), {OPEN})",
        END_KIND: f"if({event} = 0, NULL, _end_kind)",
        ENDED_BY: f"if({event} = 0, NULL, _end_by)",
    }
