"""A partition without a ledger entry waits for its adoption, or is parked."""

from __future__ import annotations

from balancer.topic_partition import TopicPartition
from replicator.mirror.ledger.acquired import Acquired
from replicator.mirror.ledger.readiness import ParkedEntries, Readiness

ONE, TWO = TopicPartition("flights", 0), TopicPartition("flights", 1)


class Ledger:
    """Ledger without entries, in which partition 0 of every topic was adopted."""

    async def witnessed(self, topic: str) -> int:
        return 1

    async def read(self, partitions):
        return {}


async def test_a_partition_whose_entry_is_gone_is_parked_and_not_counted_as_lost():
    """Nothing remembers that it was counted, so every epoch would count it again."""
    acquired, todo = Acquired(), {ONE, TWO}
    parked = ParkedEntries(None, (), {}, {})  # type: ignore[arg-type]
    ready = Readiness(Ledger(), None, None, (), parked, look_again_seconds=0)  # type: ignore[arg-type]
    await ready.exclude_unready(todo, {}, acquired)
    assert todo == set()
    assert "the ledger entry is gone" in acquired.parked[ONE]
    assert acquired.waiting == {TWO: "not adopted yet"}
    assert acquired.lost == set()
