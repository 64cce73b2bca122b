"""Checks at each step of a feed: rules 37 to 42 of docs/invariants.md, and the verifier's."""

from __future__ import annotations

import re
from collections.abc import Collection

from aggregator.intents.intent import Intent
from balancer.topic_partition import TopicPartition
from replicator.kafka.client.loss import LossKind
from tests.aggregator.verifier.judged import judged
from tests.world.sinks.decided_intents import decided_intents
from tests.world.sinks.feed_checks import FeedChecks
from tests.world.sinks.feed_load import ExpectedRows, wanted
from tests.world.sinks.feeding import Feeding
from tests.world.sinks.keeper import Identity, Observer, Part
from tests.world.sinks.letter_view import RecordPlace
from tests.world.sinks.loaded_feed import CLUSTER, FEED
from tests.world.virtual_loop import VirtualLoop

BLOCK_NAME = re.compile(
    rf"sluice-{FEED}-{CLUSTER.replace(' ', '.')}-(\w+)-(\d+)(?:\+(\d+))?-(\w+)-(\d+)-(\d+)"
    r"(-rest-\w+)?"
)
PARKED_SECONDS = 15.0
"""Bound of the time until a partition is parked for a fatal record, and for the records of the
others."""

Block = tuple[str, int, str, int, int, int]
"""Topic, partition, table, begin, end, and incarnation."""


class StepChecks(FeedChecks[ExpectedRows], Observer):
    """Checks of one feed. Whatever they find ends the history at that moment.

    - Data of a block are sent only once an intent that names the block is committed (37).
    - The offset of an intent passes only records whose rows the quorum has, or that are dead
      letters (38, 41); the same holds below each range that it names for the range's table (37).
    - No row is stored twice (39, 40), and each is as its record says.
    - Dead letters of a block that an intent names are on disk when the intent is committed, and
      none is committed twice (42).
    - The verifier has nothing to say about any intent, and none is parked.
    """

    def __init__(self, loop: VirtualLoop, feeding: Feeding) -> None:
        super().__init__(loop, feeding, lambda _, record: wanted(record))
        self._feeding = feeding
        self._copies_needed = max(feeding.quorum, 1)
        self._named: set[Block] = set()
        self._settled = dict.fromkeys(feeding.places, 0)
        self._watch_intents()
        feeding.keeper.observer = self

    # -- blocks

    def sent(self, query_id: str) -> None:
        found = BLOCK_NAME.fullmatch(query_id)
        assert found, f"{query_id} names no block"
        topic, number, log, table, begin, end, _ = found.groups()
        block = (topic, int(number), table, int(begin), int(end), int(log or 0))
        if block not in self._named and not self._is_decided(block):
            self._wrong((topic, int(number)), f"{query_id} is sent, and no intent names it (37)")

    def _is_decided(self, block: Block) -> bool:
        """Returns True if the commit of an intent that names a block is decided."""
        return any(
            block in _blocks(place, intent)
            for place, intent in decided_intents(self._feeding.cluster, FEED)
        )

    def committed(self, table: str, part: Part) -> None:
        for row in part.rows:
            identity = row.identity
            place = TopicPartition(identity.topic, identity.partition)
            if identity in self._feeding.keeper.part_of:
                self._wrong(place, f"{identity} is stored twice, by {part.block_id} (39, 40)")
            record = self.source.today(place).records.get(identity.offset)
            is_true = (
                record is not None
                and record.table == table
                and identity.row < len(record.rows)
                and record.rows[identity.row] == (row.id, row.name)
                and row.cluster == CLUSTER
            )
            if not is_true:
                self._wrong(place, f"{row} is no row of the record {record}")

    # -- intents

    def _intent_seen(self, place: TopicPartition, intent: Intent) -> None:
        before = self.intents[place][-1:] if place not in self.rest.gone else []
        self._note(place, intent)
        is_failing = self._parks_at_a_fatal_record(place, intent)
        if intent.parked and not (is_failing or self.rest.explains(intent)):
            self._wrong(place, f"parked: {intent.parked}")
        for finding in judged([*before, intent]) if before else ():
            self._wrong(place, f"the verifier says: {finding}")
        for offset, record in self.source.between(place, self._settled[place], intent.offset):
            if not self.is_settled(place, offset, record):
                self._wrong(place, f"{offset} is passed by an intent (38): {record}, {intent}")
        self._settled[place] = max(self._settled[place], intent.offset)
        for table, each in intent.tables.items():
            for offset, record in self.source.between(place, intent.offset, each.begin):
                if record.table == table and not self.is_settled(place, offset, record):
                    self._wrong(place, f"{offset} is passed by {each} (37): {record}, {intent}")
            for offset, record in self.source.between(place, each.begin, each.end):
                if record.table == table and record.is_dead:
                    self._check_letter(place, offset, intent)

    def _note_named(self, place: TopicPartition, intent: Intent) -> None:
        self._named |= _blocks(place, intent)

    def _check_letter(self, place: TopicPartition, offset: int, intent: Intent) -> None:
        if RecordPlace(*place, offset) not in self.letters.sent:
            self._wrong(place, f"{offset} has no dead letter, and is named (42): {intent}")

    def _parks_at_a_fatal_record(self, place: TopicPartition, intent: Intent) -> bool:
        """Returns True if an intent is parked for a fatal record, and names an offset up to it."""
        loss, defect = intent.parked, self._feeding.defect
        if loss is None or loss.kind is not LossKind.LOADER_FAILED or defect is None:
            return False
        read = self.source.between(place, max(loss.begin, intent.offset), 1 << 60)
        return not defect.is_mended and any(it.is_fatal for _, it in read)

    def check_parked(self) -> None:
        """Checks that a partition is parked for its fatal record, and none waits beside it (59)."""
        before = self._loop.time() - PARKED_SECONDS
        for place, seen_at in self.source.seen_at.items():
            fatal = [at for at, it in self.source.today(place).records.items() if it.is_fatal]
            seen = self.intents[place][-1]
            if fatal and seen_at[min(fatal)] < before and seen.parked is None:
                late = f"{PARKED_SECONDS} s behind {min(fatal)}"
                self._wrong(place, f"not parked {late} (59): {seen}")
            for offset, record in self.source.between(place, seen.offset, 1 << 60):
                is_late = not fatal and seen_at[offset] < before
                if is_late and not self.is_settled(place, offset, record):
                    self._wrong(place, f"{offset} waits for {PARKED_SECONDS} s (59): {record}")

    def check_waits(self, stalled: Collection[str], bound_seconds: float) -> None:
        """Checks that no record of another table than the stalled ones waits for long (45)."""
        before = self._loop.time() - bound_seconds
        for place, seen_at in self.source.seen_at.items():
            for offset, record in self.source.between(place, self._settled[place], 1 << 60):
                is_late = record.table not in stalled and seen_at[offset] < before
                if is_late and not self.is_settled(place, offset, record):
                    self._wrong(place, f"{offset} waits for {bound_seconds} s (45): {record}")
                    return

    def is_settled(self, place: TopicPartition, offset: int, record: ExpectedRows) -> bool:
        """Returns True if enough replicas have the rows of a record, or it is a dead letter."""
        if record.is_dead:
            return RecordPlace(*place, offset) in self.letters.sent
        return all(
            self._feeding.keeper.copies(Identity(record.table, *place, offset, row))
            >= self._copies_needed
            for row in range(len(record.rows))
        )


def _blocks(place: TopicPartition, intent: Intent) -> set[Block]:
    """Returns the blocks that an intent names, by the ranges that they were sealed with."""
    return {
        (*place, table, each.sealed_begin, each.sealed_end, intent.incarnation_at(each.begin))
        for table, each in intent.blocks.items()
    }
