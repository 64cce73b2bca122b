"""Records of a partition in a store, asked before a partition without an intent may begin."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple


class LogName(NamedTuple):
    """Identity of a partition's log, as an intent has it: `incarnation`, `log_begin`, `former`."""

    incarnation: int = 0
    begin: int = 0
    former: int = 0


@dataclass(frozen=True, slots=True)
class Stored:
    """Records of a partition in a store.

    Args:
        next_offset: behind the last stored record, of whichever log; None if none was seen.
        doubt: why records may be stored that were not seen; empty for a proof that none is.
        is_passing: the doubt goes by itself, such as with a server that comes back.
        ends: behind the last stored record of each log, by its incarnation (see Intent); empty
            where logs are not told apart.
        tables: the same of each table that has any record.
        has_folders: records were found in objects of several folders.
    """

    next_offset: int | None = None
    doubt: str = ""
    is_passing: bool = False
    ends: Mapping[int, int] = field(default_factory=dict)
    tables: Mapping[str, Mapping[int, int]] = field(default_factory=dict)
    has_folders: bool = False

    def is_later(self, incarnation: int) -> bool:
        """Returns True if there are records of a later log than the one with this incarnation."""
        return any(each > incarnation for each in self.ends)

    def next_in(self, log: LogName) -> int | None:
        """Returns the offset behind the last stored record of a log, or of the last log if there
        are records of a later one; None if there is none. A former log may have been longer."""
        return self._end_in(log, self.ends) if self.ends else self.next_offset

    def tables_in(self, log: LogName) -> Mapping[str, int]:
        """Returns the same of each table that has any record; 0 if none is of that log."""
        return {name: self._end_in(log, ends) or 0 for name, ends in self.tables.items()}

    def _end_in(self, log: LogName, ends: Mapping[int, int]) -> int | None:
        if self.is_later(log.incarnation):
            return ends.get(max(self.ends))
        found = [ends[log.incarnation]] if log.incarnation in ends else []
        if log.begin and log.former in ends:
            found.append(min(ends[log.former], log.begin))
        return max(found, default=None)
