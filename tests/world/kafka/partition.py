"""Partition of a cluster: its replicas on brokers, the leader of the day, and who keeps up.

The controller knows the leader; each broker knows what the controller last told it. So a broker
that is cut off goes on as a leader of an older epoch: it appends, and nothing of it is replicated.
Source: kafka.cluster.Partition, kafka.server.AbstractFetcherThread. A broker that is cut off cannot
be provoked in time: its answers follow Partition.getLocalLog, which knows only what was told.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable
from dataclasses import dataclass
from uuid import UUID

from replicator.kafka.protocol.error_codes import Code
from tests.replicator.batches.source_batches import decoded
from tests.world.kafka.log_batch import Batch, Refused, stamped
from tests.world.kafka.replica_log import ReplicaLog

NOBODY = -1


@dataclass(frozen=True, slots=True)
class Leadership:
    """Leader, epoch and in-sync replicas of a partition, as the controller decided them."""

    leader: int
    epoch: int
    in_sync: frozenset[int]


class Observer:
    """Observer of a partition, for checks at each step."""

    def appended(self, partition: Partition, broker: int, batch: Batch) -> None:
        """Called when a broker that takes itself for the leader has appended a batch."""

    def advanced(self, partition: Partition) -> None:
        """Called when the high watermark of the elected leader has grown."""


NOT_TOLD = Leadership(NOBODY, -1, frozenset())
"""Leadership as a broker knows it that has just started."""


class Partition:
    """Partition with its replicas.

    Args:
        min_in_sync: min.insync.replicas.
        max_message_bytes: of one batch.
    """

    def __init__(
        self,
        topic: str,
        topic_id: UUID,
        number: int,
        replicas: Iterable[int],
        *,
        min_in_sync: int = 1,
        max_message_bytes: int = 1_048_588,
        is_compacted: bool = False,
    ) -> None:
        self.topic, self.topic_id, self.number = topic, topic_id, number
        self.replicas = list(replicas)
        self.min_in_sync, self.max_message_bytes = min_in_sync, max_message_bytes
        self.is_compacted = is_compacted
        """cleanup.policy=compact: a record without a key is refused."""
        self.refused: set[bytes] = set()
        """Values of records that were refused. No broker knows them, checks do."""
        self.stamps_append_time = False
        """message.timestamp.type=LogAppendTime."""
        self.after_max_ms: int | None = None
        """message.timestamp.after.max.ms; None: not looked at."""
        self.before_max_ms: int | None = None
        """message.timestamp.before.max.ms; None: not looked at."""
        self.logs = {broker: ReplicaLog() for broker in self.replicas}
        self.decided = Leadership(self.replicas[0], 0, frozenset(self.replicas))
        self.told = dict.fromkeys(self.replicas, self.decided)
        """Leadership as each replica's broker knows it."""
        self.fetched = {broker: dict.fromkeys(self.replicas, 0) for broker in self.replicas}
        """For each leader, up to where each replica has its log."""
        self.epoch_began = dict.fromkeys(self.replicas, 0)
        self.changed = asyncio.Event()
        self.watchers: list[asyncio.Future[None]] = []
        """Futures that the next change ends."""
        self.observers: list[Observer] = []
        self.logs[self.decided.leader].begin_epoch(0)

    # -- a broker's side

    def leadership_of(self, broker: int) -> Leadership:
        """Returns the leadership in which a broker believes; raises Refused if it does not lead."""
        known = self.told.get(broker)
        if known is None:
            raise Refused(Code.UNKNOWN_TOPIC_OR_PARTITION)
        if known.leader != broker:
            raise Refused(Code.NOT_LEADER_OR_FOLLOWER)
        return known

    def checked_epoch(self, broker: int, epoch: int, *, leads: bool = True) -> None:
        """Raises Refused unless a broker may answer a request in an epoch (-1: in any).

        Source: Partition.getLocalLog. A consumer's Fetch is answered by followers too (KIP-392).

        Args:
            leads: only the leader may answer.
        """
        known = self.told.get(broker)
        if known is not None and epoch >= 0 and epoch != known.epoch:
            older = epoch < known.epoch
            raise Refused(Code.FENCED_LEADER_EPOCH if older else Code.UNKNOWN_LEADER_EPOCH)
        if leads or known in (None, NOT_TOLD):
            self.leadership_of(broker)

    def append(self, broker: int, batch: Batch, *, all_acks: bool = True) -> tuple[int, int, bool]:
        """Appends as the leader (Partition.appendRecordsToLeader).

        Returns the base offset, the offset up to which it has to be replicated, and whether the
        batch stood in the log already. Raises Refused.
        """
        known = self.leadership_of(broker)
        log = self.logs[broker]
        if all_acks and len(known.in_sync) < self.min_in_sync:
            raise Refused(Code.NOT_ENOUGH_REPLICAS)
        if len(batch.data) > self.max_message_bytes:
            raise Refused(Code.MESSAGE_TOO_LARGE)
        duplicate = log.duplicate_of(batch)
        if duplicate is not None:
            return duplicate, duplicate + batch.count, True
        self._validate(batch)
        log.check(batch)
        if self.stamps_append_time and not batch.is_marker:
            batch = stamped(batch, int(time.time() * 1000))
        placed = log.append(batch, known.epoch)
        for observer in [*self.observers]:
            observer.appended(self, broker, placed)
        self._advance(broker)
        self.tell()
        return placed.base_offset, placed.end, False

    def _validate(self, batch: Batch) -> None:
        """Raises Refused for records that the topic does not take (LogValidator)."""
        is_limited = self.after_max_ms is not None and not batch.is_marker
        if is_limited and batch.max_timestamp > int(time.time() * 1000) + (self.after_max_ms or 0):
            raise Refused(Code.INVALID_TIMESTAMP)
        is_limited = self.before_max_ms is not None and not batch.is_marker
        # The records of a batch have one time here.
        if is_limited and batch.max_timestamp < int(time.time() * 1000) - (self.before_max_ms or 0):
            raise Refused(Code.INVALID_TIMESTAMP)
        if self.is_compacted and batch.data and not batch.is_marker:
            records = list(enumerate(decoded(batch.data)))
            keyless = {at: record.value or b"" for at, record in records if record.key is None}
            if keyless:
                self.refused.update(keyless.values())
                raise Refused(Code.INVALID_RECORD, list(keyless))

    def tell(self) -> None:
        """Wakes up those who wait for a change of this partition."""
        self.changed.set()
        self.changed = asyncio.Event()
        watchers, self.watchers = self.watchers, []
        for watcher in watchers:
            if not watcher.done():
                watcher.set_result(None)

    def latest(self, broker: int, *, read_committed: bool) -> int:
        """Returns the end of the log for readers; raises Refused after an election, while the high
        watermark may still be behind what an earlier leader told (KIP-207).

        Source: Partition.fetchOffsetForTimestamp.
        """
        self.leadership_of(broker)
        log = self.logs[broker]
        if log.high_watermark < self.epoch_began[broker]:
            raise Refused(Code.OFFSET_NOT_AVAILABLE)
        return log.stable_offset if read_committed else log.high_watermark

    # -- replication

    def follow(self, broker: int, is_reachable: bool = True) -> bool:
        """Lets a replica fetch once from the leader that it knows; returns True if it moved on.

        The leader learns up to where the replica has the log, and tells its high watermark. Source:
        AbstractFetcherThread.processFetchRequest, and fetchOffsetAndTruncate for a log that ends
        before the leader's begins.
        """
        known = self.told[broker]
        leader = known.leader
        if leader in (NOBODY, broker) or not is_reachable:
            return False
        theirs = self.told[leader]
        if theirs.leader != leader or theirs.epoch != known.epoch:
            return False
        log, source = self.logs[broker], self.logs[leader]
        common = self._common_end(log, source)
        if common < log.end:
            log.truncate(common)
        before = (log.end, log.high_watermark)
        if log.end < source.start:
            log.start_at(source.start)
            log.removed = dict(source.removed)
        if log.end < source.end:
            for batch in list(source.from_offset(log.end, source.end)):
                log.copy(batch)
        # The leader hears of these records with the next fetch, as the follower does of the
        # high watermark.
        self.fetched[leader][broker] = before[0]
        self._advance(leader)
        log.high_watermark = max(log.high_watermark, min(log.end, source.high_watermark))
        if log.start < source.start <= log.high_watermark:
            log.delete_before(source.start)
        return before != (log.end, log.high_watermark) or self.fetched[leader][broker] < log.end

    @staticmethod
    def _common_end(log: ReplicaLog, source: ReplicaLog) -> int:
        """Returns the offset up to which a replica has the leader's log, by leader epochs.

        Source: AbstractFetcherThread.getOffsetTruncationState.
        """
        epoch = log.last_epoch
        while epoch >= 0:
            found, end = source.epoch_end(epoch)
            if found < 0:
                return min(log.end, source.end)
            ours, our_end = log.epoch_end(found)
            if ours == found:
                return min(end, our_end, log.end)
            epoch = ours
        return min(log.end, source.end)

    def _advance(self, leader: int) -> None:
        """Raises the high watermark to what all in sync have (Partition.maybeIncrementLeaderHW)."""
        known, log = self.told[leader], self.logs[leader]
        if known.leader != leader:
            return
        ends = [
            log.end if replica == leader else self.fetched[leader][replica]
            for replica in known.in_sync
        ]
        least = min([*ends, log.end])
        if least > log.high_watermark:
            log.high_watermark = least
            self.tell()
            if leader == self.decided.leader:
                for observer in self.observers:
                    observer.advanced(self)

    def caught_up(self, broker: int) -> bool:
        """Returns True when a replica has all that its leader has committed.

        A new leader's high watermark may be behind; all that is committed lies before its epoch.
        Source: Partition.isFollowerInSync.
        """
        known = self.told[broker]
        if known.leader == NOBODY:
            return False
        leader = known.leader
        committed = max(self.logs[leader].high_watermark, self.epoch_began[leader])
        return self.logs[broker].end >= committed

    # -- the controller's side

    def decide(self, leader: int, in_sync: Iterable[int]) -> None:
        """Decides on a leader; brokers learn of it by `learn`."""
        self.decided = Leadership(leader, self.decided.epoch + 1, frozenset(in_sync))

    def change_in_sync(self, in_sync: Iterable[int]) -> None:
        """Changes the in-sync replicas within the epoch; the leader knows at once.

        Source: ReplicationControlManager.alterPartition (KIP-497).
        """
        self.decided = Leadership(self.decided.leader, self.decided.epoch, frozenset(in_sync))
        leader = self.decided.leader
        if leader != NOBODY and self.told[leader].epoch == self.decided.epoch:
            self.told[leader] = self.decided
            self._advance(leader)
            self.tell()

    def learn(self, broker: int) -> None:
        """Tells a broker what the controller decided (Partition.makeLeader, makeFollower)."""
        before, now = self.told[broker], self.decided
        self.told[broker] = now
        if now.leader == broker and before.epoch != now.epoch:
            log = self.logs[broker]
            self.epoch_began[broker] = log.end
            log.begin_epoch(now.epoch)
            self.fetched[broker] = dict.fromkeys(self.replicas, 0)
            self._advance(broker)
        self.tell()
