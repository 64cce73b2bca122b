"""Partitions that wait for their adoption, and ids that give no answer."""

from __future__ import annotations

from balancer.topic_partition import TopicPartition
from replicator.mirror.ledger.acquired import Acquired
from replicator.mirror.ledger.id_attempts import IdAttempts
from replicator.mirror.ledger.readiness import ParkedEntries, Readiness

# -- A partition without a ledger entry waits for its adoption, or is parked.

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


# -- Transactional ids that give no answer come last, get more time, and hold up no other id.

SILENT, OTHER, THIRD = "sluice.west.east.0", "sluice.west.east.1", "sluice.west.east.2"


def test_an_id_without_an_answer_comes_last_until_it_answers():
    attempts = IdAttempts(shuffle=lambda ids: ids.sort())
    assert attempts.ordered([THIRD, SILENT, OTHER]) == [SILENT, OTHER, THIRD]
    attempts.expired(SILENT)
    assert attempts.is_overdue(SILENT)
    assert attempts.ordered([THIRD, SILENT, OTHER]) == [OTHER, THIRD, SILENT]
    attempts.answered(SILENT)
    assert not attempts.is_overdue(SILENT)
    assert attempts.ordered([THIRD, SILENT, OTHER]) == [SILENT, OTHER, THIRD]


def test_ids_with_equally_many_failures_keep_the_shuffled_order():
    attempts = IdAttempts(shuffle=lambda ids: ids.reverse())
    assert attempts.ordered([SILENT, OTHER, THIRD]) == [THIRD, OTHER, SILENT]


def test_each_expired_attempt_doubles_the_time_of_the_next_one_up_to_a_limit():
    attempts = IdAttempts(10.0, doublings_max=2)
    limits = []
    for _ in range(5):
        limits.append(attempts.limit_seconds(SILENT))
        attempts.expired(SILENT)
    assert limits == [10, 20, 40, 40, 40]
    assert attempts.limit_seconds(OTHER) == 10


def test_competing_carriers_pause_for_longer_each_time_that_one_of_them_was_faster():
    attempts = IdAttempts(jitter=lambda: 1.0)
    pauses = [attempts.backoff_seconds(SILENT) for _ in range(6)]
    assert pauses == [0.2, 0.4, 0.8, 1.6, 3.2, 3.2]
    attempts.answered(SILENT)
    assert attempts.backoff_seconds(SILENT) == 3.2, "an answer alone ends no competition"
    attempts.succeeded(SILENT)
    assert attempts.backoff_seconds(SILENT) == 0.2
