"""Tables and columns of ClickHouse that keep an upsert table."""

from __future__ import annotations

ROW_ID = "_row_id"
"""Column with the id of a row (Tick.row_id): UInt64."""
UNTIL = "_until"
"""Column with the tick at which a row ended, as far as it is settled: UInt32, OPEN by default."""
DELETED = "_deleted"
"""Column that is 1 for a record that deletes its key: UInt8."""
KEY = "_key"
"""Column with the hash of the key: FixedString(16)."""
ORDER = "_order"
"""Column with the number that says which row of a key is the newest (Version.order): Int64. With
it, a fact is read back from the table as it was, whatever the newest column's type is."""
TIME = "_time"
"""Column with the time by which retention goes, in seconds: DateTime."""
UPSERT_COLUMNS = {
    ROW_ID: "UInt64",
    UNTIL: "UInt32",
    DELETED: "UInt8",
    KEY: "FixedString(16)",
    ORDER: "Int64",
    TIME: "DateTime",
}
"""Columns that a table of rows has beside those of the user and the coordinates."""


def rows_table(table: str) -> str:
    """Returns the table of all rows, those that ended included."""
    return f"{table}__rows"


def updates_table(table: str) -> str:
    """Returns the table of the rows' ends."""
    return f"{table}__updates"


def ticks_table(table: str) -> str:
    """Returns the table of the ticks: claims, settle points, horizons."""
    return f"{table}__ticks"
