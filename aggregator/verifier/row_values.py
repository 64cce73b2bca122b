"""Row values: the columns of a table's rows against the records, by a second reader. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from aggregator.formats.record_slice import RecordSlice
from aggregator.tables.table_schema import TableSchema
from aggregator.verifier.plain_cells import compared
from aggregator.verifier.plain_records import Reader, Row

DIFFERENCES_MAX = 5
"""Differences of a chunk that are told."""


@dataclass(eq=False)
class RowValues:
    """Comparison of the rows of one Kafka partition.

    A row that has a column's default, though its record has a value, is a doubt while no row before
    it has a value of that column: the column may have been added when it was stored already.
    """

    schema: TableSchema
    read: Reader
    differences: list[tuple[int, str]] = field(default_factory=list)
    """Offset of the record, and how its row differs."""
    _unread: int = 0
    _seen: set[str] = field(default_factory=set)
    _late: set[str] = field(default_factory=set)

    @property
    def doubts(self) -> list[str]:
        """Reasons why something could not be compared."""
        found = [
            f"{name} has its default in rows whose records have values: was it added later?"
            for name in sorted(self._late)
        ]
        if self._unread:
            found.append(f"{self._unread} records with rows cannot be read by a second reader")
        return found

    def compare(
        self,
        records: RecordSlice,
        expected: Collection[tuple[int, int]],
        rows: Sequence[tuple[int, int, Mapping[str, Any]]],
    ) -> None:
        """Compares rows with their records. Surplus and doubled ones are passed: those are named
        by their identities.

        Args:
            expected: offset and row of each row that loaders form of the records.
            rows: offset, row in its record, and values by column, in this order.
        """
        place = {offset: at for at, offset in enumerate(records.offset.tolist())}
        copies = Counter((offset, row) for offset, row, _ in rows)
        of_record: tuple[int, list[Row] | None] = (-1, None)
        for offset, row, stored in rows:
            is_named = (offset, row) not in expected or copies[offset, row] > 1
            if offset not in place or is_named:
                continue
            if of_record[0] != offset:
                of_record = offset, self._rows(records, place[offset])
            found = of_record[1]
            if found is None:
                continue
            if row >= len(found):
                self._differs(offset, f"it is row {row}, and the record has {len(found)} rows")
                continue
            for each in compared(self.schema, found[row], stored):
                if not each.difference:
                    self._seen |= set() if each.has_default else {each.column}
                elif each.has_default and each.column not in self._seen:
                    self._late.add(each.column)
                else:
                    self._differs(offset, each.difference)

    def _rows(self, records: RecordSlice, at: int) -> list[Row] | None:
        begin, end = int(records.value_begin[at]), int(records.value_end[at])
        if begin < 0:
            return []
        try:
            return self.read(bytes(records.data[begin:end]), self.schema)
        except MemoryError:
            raise
        except Exception:  # each library raises what its code happens to raise
            self._unread += 1
            return None

    def _differs(self, offset: int, text: str) -> None:
        if len(self.differences) < DIFFERENCES_MAX:
            self.differences.append((offset, text))
