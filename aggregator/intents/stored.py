"""Records of a partition in a store, asked before a partition without an intent may begin."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Stored:
    """Records of a partition in a store.

    Args:
        next_offset: behind the last stored record, of whichever log; None if none was seen.
        doubt: why records may be stored that were not seen; empty for a proof that none is.
        is_passing: the doubt goes by itself, such as with a server that comes back.
        ends: behind the last stored record of each log, by its incarnation (see Intent); empty
            where logs are not told apart.
    """

    next_offset: int | None = None
    doubt: str = ""
    is_passing: bool = False
    ends: Mapping[int, int] = field(default_factory=dict)

    def is_later(self, incarnation: int) -> bool:
        """Returns True if there are records of a later log than the one with this incarnation."""
        return any(each > incarnation for each in self.ends)

    def next_in(self, incarnation: int, log_begin: int, former: int) -> int | None:
        """Returns the offset behind the last stored record of a log, or of the last log if there
        are records of a later one; None if there is none. A former log may have been longer.

        Args:
            incarnation, log_begin, former: of the log (see Intent).
        """
        if not self.ends:
            return self.next_offset
        if self.is_later(incarnation):
            return self.ends[max(self.ends)]
        found = [self.ends[incarnation]] if incarnation in self.ends else []
        if log_begin and former in self.ends:
            found.append(min(self.ends[former], log_begin))
        return max(found, default=None)
