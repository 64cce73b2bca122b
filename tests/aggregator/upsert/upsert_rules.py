"""Decisions about upsert tables, as a world asks for them. Mutations leave one of them out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from aggregator.upsert import fold as folding
from aggregator.upsert import recovery as recovering
from aggregator.upsert import settling, visibility
from aggregator.upsert.expired_days import expired_days
from aggregator.upsert.fold import Folded, KeyState
from aggregator.upsert.mark import Level, server_mark
from aggregator.upsert.recovery import Found, Recovery
from aggregator.upsert.settling import OpenRows
from aggregator.upsert.tick import OPEN, Tick
from aggregator.upsert.tick_cut import Cut, CutSettings, Logs, cut
from aggregator.upsert.version import ORDER_MIN, Version
from aggregator.upsert.visibility import ReplicaCount
from replicator.kafka.client.loss import Loss
from tests.aggregator.upsert import upsert_visible
from tests.aggregator.upsert.upsert_store import SERVERS, Server, StoredRow

SETTINGS = CutSettings(records_max=6, rows_per_record=2, block_rows=3)
RETENTION_HOURS = 18.0
States = dict[bytes, KeyState]


class Rules:
    """The product's decisions."""

    rows_behind_the_intent = True
    order: tuple[str, ...] = ("rows", "ends", "claim")

    def cut(
        self,
        before: Tick,
        logs: Logs,
        answering: set[str],
        clock_ms: int,
        accepted: Mapping[int, Loss],
    ) -> Cut:
        return cut(before, logs, answering, clock_ms, SETTINGS, accepted=accepted)

    def redone(self, intent: Tick, ends: Sequence[int]) -> Tick:
        """Returns the tick that is done again.

        Args:
            ends: of the logs of its lanes by now.
        """
        return intent

    def fold(
        self, tick: int, rows: Iterable[tuple[bytes, Version]], states: States, since_s: int
    ) -> Folded:
        """Returns the result of a tick. The order of the rows is their time, in seconds.

        Args:
            since_s: time since which rows are seen at the tick.
        """
        return folding.fold(tick, rows, states, since_s or ORDER_MIN)

    def facts(self, rows: Sequence[StoredRow], is_visible: Callable[[StoredRow], bool]) -> Any:
        """Returns what a bootstrap reads: visible rows and deletes."""
        return [
            (each.key, each.version) for each in rows if each.version.is_delete or is_visible(each)
        ]

    def recovery(self, found: Found) -> Recovery:
        return recovering.recovery(found)

    def is_fenced(self, epoch: int, newest: int) -> bool:
        return epoch != newest

    def is_block_done(self, found: int, expected: int) -> bool:
        return found == expected

    def is_visible(self, row_id: int, until: int, mark: int, ended: set[int]) -> bool:
        return upsert_visible.is_visible(row_id, until, mark, ended)

    def is_shown(self, time_s: int, since_s: int) -> bool:
        """Returns True for a row of a day that is not over (upsert_visible.is_visible)."""
        return upsert_visible.is_visible(0, OPEN, 0, (), time_s=time_s, since_s=since_s)

    def shown_since_s(self, time_ms: int, clock_ms: int) -> int:
        """Returns the time since which rows are seen.

        Args:
            time_ms: of the mark's tick.
            clock_ms: of whoever asks.
        """
        return visibility.shown_since_s(time_ms, RETENTION_HOURS)

    def expired_days(self, days: Iterable[int], horizon_ms: int, newest_ms: int) -> list[int]:
        """Returns the days that a server may drop.

        Args:
            horizon_ms, newest_ms: times of the horizon's tick and of the newest claimed one.
        """
        return expired_days(days, horizon_ms, RETENTION_HOURS)

    def is_remembered(self, version: Version, time_ms: int) -> bool:
        """Returns True for a row that a bootstrap at a tick of this time takes."""
        oldest_s = visibility.remembered_since_s(time_ms, RETENTION_HOURS)
        since_s = visibility.shown_since_s(time_ms, RETENTION_HOURS)
        return version.order >= (oldest_s if version.is_delete else since_s)

    def is_admitted(self, order: int, time_ms: int) -> bool:
        """Returns True for a record that a tick of this time takes (row_facts.py)."""
        return order * 1000 >= visibility.admitted_since_ms(time_ms, RETENTION_HOURS)

    def is_behind(self, tick: int, settled: int, mark: int) -> bool:
        return upsert_visible.is_behind(tick, settled, mark)

    def settled_at(self, mark: int, points: Iterable[int]) -> int:
        return visibility.settled_at(mark, points)

    def is_settled_by(self, until: int, point: int) -> bool:
        """Returns True for a row that a mutation changes: WHERE _until > point."""
        return until > point

    def settled_until(self, until: int, point: int) -> int:
        return upsert_visible.settled_until(until, point)

    def settled_servers(self, point: int, counts: Mapping[str, ReplicaCount]) -> list[str]:
        """Returns the servers that have a settle point."""
        return [each for each in SERVERS if visibility.has_settled(counts.get(each), point)]

    def is_named(self, server: Server, name: str, number: int) -> bool:
        """Returns True if a settle point names a server."""
        return (server.name, server.number) == (name, number)

    def last_dropped(self, horizon: int, following: int, points: Sequence[int]) -> int:
        """Returns the last tick whose ends are dropped, in partitions of a tick.

        Args:
            horizon: that is published.
            following: that may be published.
            points: settle points.
        """
        return horizon

    def may_answer(self, settled: int, horizon: int) -> bool:
        """Returns True for a server that gets queries."""
        return visibility.has_ends(settled, horizon)

    def may_bootstrap(self, settled: int, horizon: int) -> bool:
        """Returns True for a server from which a bootstrap reads."""
        return visibility.has_ends(settled, horizon)

    def can_count(self, after: int, horizon: int) -> bool:
        """Returns True for a server whose count of open rows is one."""
        return visibility.has_ends(after, horizon)

    def compared(self, point: int, found: OpenRows, wanted: OpenRows) -> ReplicaCount:
        """Returns the count of a server that cannot count."""
        return settling.compared(point, found, wanted)

    def server_mark(self, levels: Mapping[int, Level]) -> int:
        return server_mark(levels)
