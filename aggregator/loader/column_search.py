"""Column search: when the columns of a table are read for records of a hash that it does not have.

Records of a hash that stays unknown would have them read for each block. No I/O.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple


class _Search(NamedTuple):
    hashes: frozenset[str]
    at: float


@dataclass(slots=True)
class ColumnSearch:
    """Searches for hashes of columns.

    Args:
        pause_seconds: time for which a hash is not looked for again.
    """

    pause_seconds: float
    _last: dict[tuple[str, str], _Search] = field(init=False, default_factory=dict)
    """Last search by topic and table."""

    def begins(self, table: tuple[str, str], hashes: frozenset[str], now: float) -> bool:
        """Returns True, and notes it, if not all of these hashes were looked for a moment ago.

        Args:
            table: topic and table.
        """
        last = self._last.get(table)
        is_recent = last is not None and now - last.at < self.pause_seconds
        looked_for = last.hashes if last is not None and is_recent else frozenset()
        if hashes <= looked_for:
            return False
        self._last[table] = _Search(hashes | looked_for, now)
        return True
