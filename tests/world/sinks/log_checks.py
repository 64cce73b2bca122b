"""Checks of a feed whose partitions get other logs: topics are created again, or logs are cut.

Every row names a log in which there is its record, and no name is of two logs. What is in today's
log is stored once, under whichever name; what a former one had is so at most once.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from aggregator.intents.intent import Intent
from aggregator.intents.intent_store import group_of
from balancer.plan import TopicPartition
from replicator.kafka.client.custody import Custody
from replicator.kafka.client.loss import LossKind
from tests.aggregator.verifier.judged import judged
from tests.world.kafka.kafka_cluster import GROUPS
from tests.world.kafka.log_losses import LossCause
from tests.world.kafka.partition import Partition
from tests.world.sinks.feed_load import ExpectedRows, wanted
from tests.world.sinks.feeding import Feeding
from tests.world.sinks.intent_view import IntentView
from tests.world.sinks.keeper import Identity, Part, Row
from tests.world.sinks.letter_view import RecordPlace
from tests.world.sinks.loaded_feed import CLUSTER, FEED
from tests.world.sinks.seen_logs import SeenLog, SeenLogs
from tests.world.sinks.step_checks import StepChecks
from tests.world.virtual_loop import VirtualLoop

Log = SeenLog[ExpectedRows]


class RecordOfLog(NamedTuple):
    """A record, in whichever log it came first.

    Args:
        origin: number of that log.
    """

    place: TopicPartition
    origin: int
    offset: int


class LogChecks(StepChecks):
    """Checks of one feed. Whatever they find ends the history at that moment."""

    def __init__(self, loop: VirtualLoop, feeding: Feeding) -> None:
        super().__init__(loop, feeding)
        self.logs: SeenLogs[ExpectedRows] = SeenLogs(
            feeding.cluster, feeding.places, lambda _, record: wanted(record)
        )
        self.source = self.logs  # type: ignore[assignment]
        self.stored: dict[tuple[RecordOfLog, str, int], Identity] = {}
        """Identities of stored rows, by record, table and row."""
        self._floors: dict[TopicPartition, dict[int, int]] = {it: {0: 0} for it in feeding.places}
        """Number of the log in which a name was used first."""
        self._begins: dict[tuple[TopicPartition, int], int] = {}
        self._reached: dict[tuple[TopicPartition, int], dict[int, int]] = defaultdict(dict)
        """End of the rows of each log, by name."""
        self._passed: dict[tuple[TopicPartition, int], int] = defaultdict(int)

    def _watch_intents(self) -> None:
        IntentView(
            self._feeding.cluster, FEED, self._intent_seen, self._intent_gone, self._topic_deleted
        )

    # -- rows

    def committed(self, table: str, part: Part) -> None:
        for row in part.rows:
            self._take(table, row)

    def _take(self, table: str, row: Row) -> None:
        it = row.identity
        place = TopicPartition(it.topic, it.partition)
        floor = self._floors[place].get(it.incarnation)
        if floor is None or it.offset < self._begins.get((place, it.incarnation), 0):
            self._wrong(place, f"{row} names a log that has no such offset (56)")
            return
        found = [
            log.origins[it.offset]
            for log in self.logs.of[place][floor:]
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
        self._check_name(place, it, new[0][0].origin)

    def _check_name(self, place: TopicPartition, it: Identity, origin: int) -> None:
        """Checks that all rows of a name are of one log."""
        reached = self._reached[place, it.incarnation]
        reached[origin] = max(reached.get(origin, 0), it.offset + 1)
        logs, newest = self.logs.of[place], max(reached)
        for older, end in reached.items():
            cut = min((each.cut for each in logs[older + 1 : newest + 1]), default=end)
            if end > cut:
                self._wrong(place, f"{it} has a name under which there are rows of two logs (56)")

    # -- intents

    def _topic_deleted(self, topic: str, partition: Partition) -> None:
        cluster = self._feeding.cluster
        for place in self.intents:
            if place.topic == topic and partition is cluster.internal(
                GROUPS, group_of(FEED, place)
            ):
                self.rest.gone.add(place)

    def _intent_seen(self, place: TopicPartition, intent: Intent) -> None:
        last = self.intents[place][-1] if self.intents[place] else None
        is_anew = place in self.rest.gone
        is_accepted = (is_anew or last is None or bool(last.parked)) and _is_free(intent)
        self.rest.gone.discard(place)
        self.intents[place].append(intent)
        self._named |= {
            (*place, table, each.begin, each.end, intent.incarnation_at(each.begin))
            for table, each in intent.blocks.items()
        }
        if self.armed is not None and intent.blocks and intent.custody is Custody.HELD:
            armed, self.armed = self.armed, None
            armed(intent)
        if intent.parked and not self._explains(place, intent):
            self._wrong(place, f"parked: {intent.parked}")
        if last and is_anew and intent.parked and _log_of(last) != _log_of(intent):
            self._wrong(place, f"{intent} has another log than {last}, which is gone (56)")
        for finding in judged([last, intent]) if last and not is_anew else ():
            self._wrong(place, f"the verifier says: {finding}")
        today = self.logs.today(place)
        if intent.incarnation not in self._floors[place]:
            self._floors[place][intent.incarnation] = today.number
            self._begins[place, intent.incarnation] = intent.log_begin
        floor = today.number if is_accepted else self._floors[place][intent.incarnation]
        # A loader that has read nothing behind a cut goes on; another one ends what it had begun.
        faults = [self._fault(place, intent, log) for log in self.logs.of[place][floor:]]
        if all(faults):
            self._wrong(place, f"{faults[-1]}: {intent}")

    def _fault(self, place: TopicPartition, intent: Intent, log: Log) -> str:
        """Returns what an intent passes wrongly if it is of a log; empty: nothing."""
        passed = self._passed[place, log.number]
        for offset in log.between(passed, intent.offset):
            if not self._is_stored(place, log, offset):
                return f"{offset} is passed (38): {log.records[offset]}"
            self._passed[place, log.number] = offset + 1
        for table, each in intent.tables.items():
            for offset in log.between(intent.offset, each.begin):
                if log.records[offset].table == table and not self._is_stored(place, log, offset):
                    return f"{offset} is passed by {each} (37): {log.records[offset]}"
        return ""

    def _is_stored(self, place: TopicPartition, log: Log, offset: int) -> bool:
        """Returns True if enough replicas have the rows of a record, or it is a dead letter."""
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

    def _letters_of(
        self,
        place: TopicPartition,
        offset: int,
        record: ExpectedRows,
        letters: Mapping[RecordPlace, Any],
    ) -> Iterator[RecordPlace]:
        """Yields the letters of a record, under each name of its log."""
        for name in self._floors[place]:
            letter = RecordPlace(*place, offset, name)
            if letter in letters and self.letters.values[letter] == record.value:
                yield letter

    def _explains(self, place: TopicPartition, intent: Intent) -> bool:
        """Returns True if a log has lost what an intent is parked for, or the intent was gone."""
        loss = intent.parked
        lost = [it for it in self._feeding.cluster.lost if it.place == tuple(place)]
        is_another = any(it.cause is LossCause.RECREATION for it in lost)
        if loss is None or loss.kind is LossKind.INTENT_GONE:
            return self.rest.are_all_away or is_another
        if loss.kind in (LossKind.SOURCE_RECREATED, LossKind.SOURCE_DELETED):
            return is_another
        cuts = {it.begin for it in lost if it.cause is LossCause.UNCLEAN_ELECTION}
        return loss.kind is LossKind.SOURCE_TRUNCATED and loss.begin in cuts

    # -- the end

    def differences(self) -> list[str]:
        """Returns a text for each difference between the logs of today and the store."""
        found: list[str] = []
        expected: set[Identity] = set()
        missing: list[str] = []
        ours: set[RecordOfLog] = set()
        for place in self._feeding.places:
            log, intent = self.logs.today(place), self.intents[place][-1]
            if (intent.offset, bool(intent.parked)) != (self.logs.end(place), False):
                found.append(f"{place}: the log ends at {self.logs.end(place)}: {intent}")
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


def _is_free(intent: Intent) -> bool:
    return not intent.parked and intent.custody is Custody.RELEASED


def _log_of(intent: Intent) -> tuple[int, int, int]:
    return intent.incarnation, intent.log_begin, intent.former
