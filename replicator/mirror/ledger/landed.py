"""Decision: how many records of a fenced writer landed, by the log and by the leader's memory."""

from __future__ import annotations

from dataclasses import dataclass

from replicator.kafka.client.cluster import ProducerState
from replicator.kafka.client.loss import Loss, LossKind
from replicator.mirror.ledger.entry import Entry
from replicator.mirror.ledger.tail import Tail


@dataclass(frozen=True, slots=True)
class Memory:
    """A leader's memory of one producer, read before the fence.

    The leader answers from its local log, so the memory counts records that no other replica has.

    Args:
        leader_epoch: epoch in which the broker led the partition when it was asked.
        state: None when the leader remembers nothing of the producer.
    """

    leader_epoch: int
    state: ProducerState | None


def landed(entry: Entry, tail: Tail, start: int, memory: Memory, *, is_whole: bool) -> int | Loss:
    """Returns how many records after the entry landed, or the loss that makes this unknown.

    Everything before the marker is committed, so a log without a hole is sufficient. The memory
    fills a hole only if the same leader wrote the marker in the same epoch: between the two, its
    log was only appended to. After an election the memory may count records that are gone
    (decision 0016).

    Args:
        start: start offset of the log when the partition was inspected.
        is_whole: nothing was deleted between the entry and the offset where reading began.
    """
    if not tail.ends_thinned and (is_whole or tail.landed):
        return tail.landed
    state = memory.state
    if state and memory.leader_epoch == tail.leader_epoch:
        if state.epoch == entry.epoch:
            # An append in progress when the leader was asked is found in the log only.
            return max(tail.landed, count_remembered(entry, state))
        if state.epoch < entry.epoch:
            return tail.landed  # the writer never wrote here
    # Forgotten, reset by the marker of a takeover that did not commit, or a former leader's.
    if start > entry.target_offset and not tail.landed:
        return Loss(LossKind.TARGET_TAIL_DELETED, entry.target_offset, start)
    if tail.ends_thinned:
        cleaned = "compaction left nothing of what may have been there"
        return Loss(LossKind.TARGET_TAIL_DELETED, entry.target_offset, tail.end, cleaned)
    return tail.landed


def count_remembered(entry: Entry, state: ProducerState) -> int:
    """Returns how many records after the entry a leader remembers of the entry's producer."""
    return entry.landed_up_to(state.last_sequence) if state.last_sequence >= 0 else 0
