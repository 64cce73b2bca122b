"""Log ranges: which objects the log alone decides, record by record."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from tests.world.objects.object_load import ExpectedRecord, Settings


@dataclass(slots=True)
class _Open:
    begin: int
    end: int
    records: int
    first_ms: int


class LogRanges:
    """Ranges of one Kafka partition's objects, by record and record-time limits.

    Args:
        settings: whose limits depend on the log alone.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._open: dict[str, _Open] = {}
        self.ended: set[tuple[str, int, int]] = set()
        """Encoded partition, begin and end of each object."""
        self.position = 0
        """Offset behind the last record."""

    def add(self, records: Iterable[tuple[int, ExpectedRecord]]) -> None:
        """Takes the next records in."""
        settings = self._settings
        for offset, record in records:
            interval = settings.interval_seconds
            if interval is not None:
                for folder, each in list(self._open.items()):
                    if record.timestamp_ms >= each.first_ms + 1000 * interval:
                        self._end(folder)
            mine = self._open.get(record.folder)
            if mine is None:
                mine = self._open[record.folder] = _Open(offset, 0, 0, record.timestamp_ms)
            mine.end, mine.records = offset + 1, mine.records + 1
            if mine.records == settings.records:
                self._end(record.folder)
            self.position = offset + 1

    def has_ended(self, folder: str, offset: int) -> bool:
        """Returns True if a record of an encoded partition is in an object that has ended."""
        mine = self._open.get(folder)
        return mine is None or offset < mine.begin

    def first_open(self, end: int) -> int:
        """Returns the offset below which every object has ended.

        Args:
            end: of the log.
        """
        return min((each.begin for each in self._open.values()), default=end)

    def _end(self, folder: str) -> None:
        each = self._open.pop(folder)
        self.ended.add((folder, each.begin, each.end))
