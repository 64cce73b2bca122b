"""Mutations of takeovers: what had landed is found in another way than rules 2, 3 and 10 demand."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from balancer.topic_partition import TopicPartition
from replicator.batches.batch import scan
from replicator.kafka.client.fenced_committer import FencedCommitter
from replicator.kafka.client.loss import Loss
from replicator.mirror.carrier.carrier_assembly import Makers
from replicator.mirror.ledger.entry import Entry
from replicator.mirror.ledger.fenced_tails import FencedTails
from replicator.mirror.ledger.inspection import TargetFindings, inspect_target
from replicator.mirror.ledger.landed import Memory
from replicator.mirror.ledger.tail import Reading, Tail, read_tail
from replicator.mirror.ledger.takeover import Takeover
from tests.world.mirror.mutations.mutation import Mutation


def _taking(tails: type[FencedTails]) -> Makers:
    return Makers(takeover=partial(Takeover, tails=tails))


class ToTheWatermark(FencedTails):
    """Reads up to the log end of the inspection, not to the marker."""

    async def read(
        self,
        partition: TopicPartition,
        entry: Entry,
        found: TargetFindings,
        memory: Memory,
        marker: tuple[int, int],
    ) -> Tail | Loss:
        reading = Reading(entry, max(entry.target_offset, found.start))
        while reading.offset < found.end:
            for _, header in scan(await self.target.read(*partition, reading.offset, 1 << 20)):
                is_new = reading.offset < header.next_offset <= found.end
                reading.offset = max(reading.offset, header.next_offset)
                if is_new and not header.is_control:
                    reading.add(header)
        return Tail(reading.landed, reading.offset, reading.mark, tuple(reading.runs))


class ReadsOnly(FencedTails):
    """Counts the records read, and ignores the leader's memory where a part was deleted."""

    async def read(
        self,
        partition: TopicPartition,
        entry: Entry,
        found: TargetFindings,
        memory: Memory,
        marker: tuple[int, int],
    ) -> Tail | Loss:
        begin = max(entry.target_offset, found.start)
        return await read_tail(self.target, partition, Reading(entry, begin), marker)


Found = Tail | Loss


def _adjusting(adjust: Callable[[Found, Entry, TargetFindings, Memory], Found]) -> Makers:
    """Returns makers of takeovers that go on from an adjusted tail."""

    class Adjusting(FencedTails):
        async def read(
            self,
            partition: TopicPartition,
            entry: Entry,
            found: TargetFindings,
            memory: Memory,
            marker: tuple[int, int],
        ) -> Found:
            tail = await super().read(partition, entry, found, memory, marker)
            return adjust(tail, entry, found, memory)

    return _taking(Adjusting)


def _as_remembered(tail: Found, entry: Entry, _: TargetFindings, memory: Memory) -> Found:
    """Trusts only the leader's memory from before the fence."""
    if isinstance(tail, Loss) or memory.state is None:
        return tail
    return replace(tail, landed=entry.landed_up_to(memory.state.last_sequence))


def _nothing_if_unknown(tail: Found, entry: Entry, found: TargetFindings, _: Memory) -> Found:
    """Concludes that nothing landed where it cannot be known."""
    return Tail(0, found.end, entry.mark, ()) if isinstance(tail, Loss) else tail


def _by_count(tail: Found, *_: object) -> Found:
    """Counts by the last sequence, whatever is missing before it."""
    return tail if isinstance(tail, Loss) else replace(tail, missing=None)


def _whatever_their_times(tail: Found, *_: object) -> Found:
    """Takes records as they were sent, whatever their timestamps are in the target."""
    return tail if isinstance(tail, Loss) else replace(tail, changed=None)


class AnyProducer(FencedTails):
    """Takes the producer of an entry for fenced, whichever id was opened."""

    async def examine(
        self, partition: TopicPartition, entry: Entry, holder: FencedCommitter
    ) -> TargetFindings:
        return await inspect_target(self.target, partition, entry)


MUTATIONS = (
    Mutation(2, "a tail is read to the watermark only", _taking(ToTheWatermark)),
    Mutation(2, "only the leader's memory counts", _adjusting(_as_remembered)),
    Mutation(2, "what was never taken counts as landed", _adjusting(_by_count), "overtaken"),
    Mutation(3, "a deleted part of a tail counts as empty", _taking(ReadsOnly), "tails"),
    Mutation(
        3, "what cannot be known counts as not landed", _adjusting(_nothing_if_unknown), "tails"
    ),
    Mutation(10, "any producer counts as fenced", _taking(AnyProducer), "ids"),
    Mutation(32, "takeovers do not look at timestamps", _adjusting(_whatever_their_times), "times"),
)
