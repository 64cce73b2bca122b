"""Checks of a feed of rows whose partitions get other logs.

Every row names a log in which there is its record, and no name is of two logs. What is in today's
log is stored once, under whichever name; what a former one had is so at most once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from balancer.topic_partition import TopicPartition
from tests.world.sinks.feed_load import ExpectedRows
from tests.world.sinks.feeding import Feeding
from tests.world.sinks.keeper import Identity, Part, Row
from tests.world.sinks.loaded_feed import CLUSTER
from tests.world.sinks.log_watch import LogWatch
from tests.world.sinks.seen_logs import RecordOfLog, SeenLog
from tests.world.sinks.step_checks import StepChecks
from tests.world.virtual_loop import VirtualLoop

Log = SeenLog[ExpectedRows]


class LogChecks(LogWatch[ExpectedRows], StepChecks):
    """Checks of one feed. Whatever they find ends the history at that moment."""

    def __init__(self, loop: VirtualLoop, feeding: Feeding) -> None:
        self.stored: dict[tuple[RecordOfLog, str, int], Identity] = {}
        """Identities of stored rows, by record, table and row."""
        super().__init__(loop, feeding)

    # -- rows

    def committed(self, table: str, part: Part) -> None:
        for row in part.rows:
            self._take(table, row)

    def _take(self, table: str, row: Row) -> None:
        it = row.identity
        place = TopicPartition(it.topic, it.partition)
        logs = self._named_logs(place, it.incarnation, it.offset)
        if not logs:
            self._wrong(place, f"{row} names a log that has no such offset (56)")
            return
        found = [
            log.origins[it.offset]
            for log in logs
            if it.offset in log.records and _is_of(log.records[it.offset], table, row)
        ]
        if not found:
            self._wrong(place, f"{row} is no row of a record of the log that it names (56)")
            return
        keys = [(RecordOfLog(place, origin, it.offset), table, it.row) for origin in found]
        new = [key for key in keys if key not in self.stored]
        if not new:
            self._wrong(place, f"{it} is stored twice, also as {self.stored[keys[0]]} (39, 56)")
            return
        self.stored[new[0]] = it
        self._check_name(place, it.incarnation, new[0][0].origin, it.offset)

    # -- intents

    def _goes_to(self, record: ExpectedRows, table: str) -> bool:
        return record.table == table

    def _is_stored(self, place: TopicPartition, log: Log, offset: int) -> bool:
        record = log.records[offset]
        if record.is_dead:
            return any(self._letters_of(place, offset, record, self.letters.sent))
        return all(
            identity is not None and self._feeding.keeper.copies(identity) >= self._copies_needed
            for identity in self._identities(place, log, offset)
        )

    def _identities(
        self, place: TopicPartition, log: Log, offset: int
    ) -> Iterator[Identity | None]:
        record, about = log.records[offset], RecordOfLog(place, log.origins[offset], offset)
        for row in range(len(record.rows)):
            yield self.stored.get((about, record.table, row))

    # -- the end

    def differences(self) -> list[str]:
        """Returns a text for each difference between the logs of today and the store."""
        found = self._passing_differences()
        expected: set[Identity] = set()
        missing: list[str] = []
        ours: set[RecordOfLog] = set()
        for place in self._feeding.places:
            log = self.source.today(place)
            for offset, record in log.records.items():
                ours.add(RecordOfLog(place, log.origins[offset], offset))
                if record.is_dead:
                    letters = self._letters_of(place, offset, record, self.letters.committed)
                    if sum(self.letters.committed[each] for each in letters) != 1:
                        missing.append(f"{place} {offset}: not one dead letter")
                for identity in self._identities(place, log, offset):
                    if identity is None:
                        missing.append(f"{place} {offset}: {record}")
                    else:
                        expected.add(identity)
        former = {it for (record, _, _), it in self.stored.items() if record not in ours}
        if missing:
            found.append(f"{len(missing)} records are not stored once: {missing[:3]}")
        for name, server in self._feeding.servers.items():
            rows = Counter(
                row.identity
                for parts in server.parts.values()
                for part in parts
                for row in part.rows
            )
            if rows != Counter(expected | former):
                lacking = len((expected | former) - rows.keys())
                found.append(f"rows on {name}: {lacking} missing, {sum(rows.values())} there")
        return found


def _is_of(record: ExpectedRows, table: str, row: Row) -> bool:
    at = row.identity.row
    has_row = record.table == table and at < len(record.rows) and row.cluster == CLUSTER
    return has_row and record.rows[at] == (row.id, row.name)
