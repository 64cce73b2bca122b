"""Block attempts: pauses between them, and what a table remembers of blocks."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aggregator.intents.table_range import KeeperMoment
from aggregator.store.block_attempts import BlockAttempts, Step
from aggregator.store.block_memory import BlockMemory, HashList
from aggregator.store.insert_errors import ErrorClass, InsertProblem
from aggregator.store.recognition import (
    Decision,
    Identities,
    ReplicaSight,
    Sight,
    Verdict,
    decide,
)
from aggregator.store.retry import RetryPolicy

# -- Whatever an insert ends with, each row of a block is in the table once when the block is
# done.

REPLICAS = 3
UNKNOWN = InsertProblem(ErrorClass.SAME_AGAIN, 319, "", may_be_stored=True)
REFUSED = InsertProblem(ErrorClass.SAME_AGAIN, 286, "", may_be_stored=False)
INSERT, DONE = Decision(Verdict.INSERT), Decision(Verdict.DONE)


def rest(*lacking: bool) -> Decision:
    return Decision(Verdict.INSERT_REST, np.array(lacking))


def attempts(*, quorum: int = 2, is_doubtful: bool = False) -> BlockAttempts:
    return BlockAttempts(quorum=quorum, is_doubtful=is_doubtful)


def step_of(block: BlockAttempts) -> Step:
    """Returns the step as another value each time, which mypy does not take for the last one."""
    return block.step


def test_a_new_block_is_sent_and_done_with_its_acknowledgement():
    block = attempts()
    assert step_of(block) is Step.SEND
    block.failed(REFUSED)
    assert step_of(block) is Step.SEND
    block.acknowledged()
    assert step_of(block) is Step.DONE


def test_a_block_that_may_be_stored_is_looked_for_before_it_is_sent_again():
    block = attempts()
    block.failed(UNKNOWN)
    assert step_of(block) is Step.LOOK
    block.looked(INSERT)
    assert step_of(block) is Step.SEND
    block.failed(REFUSED)
    assert step_of(block) is Step.SEND
    block.failed(UNKNOWN)
    assert step_of(block) is Step.LOOK
    block.looked(DONE)
    assert step_of(block) is Step.DONE


def test_what_was_decided_by_the_memory_of_the_table_is_decided_again_after_each_failure():
    block = attempts(is_doubtful=True)
    block.looked(Decision(Verdict.INSERT, why="no replica has all parts yet"))
    assert step_of(block) is Step.SEND
    block.failed(REFUSED)
    assert step_of(block) is Step.LOOK


def test_one_acknowledgement_of_a_doubtful_block_is_not_believed_under_a_quorum():
    block = attempts(is_doubtful=True)
    for _ in range(2):
        assert step_of(block) is Step.LOOK
        block.looked(INSERT)
        block.acknowledged()
    assert step_of(block) is Step.DONE


def test_without_a_quorum_an_acknowledgement_is_enough():
    block = attempts(quorum=0, is_doubtful=True)
    block.looked(INSERT)
    block.acknowledged()
    assert step_of(block) is Step.DONE


@pytest.mark.parametrize("second", [rest(False, True), INSERT])
def test_two_acknowledgements_are_of_the_same_rows(second):
    block = attempts(is_doubtful=True)
    block.looked(rest(True, False))
    block.acknowledged()
    block.looked(second)
    assert block.was_split
    block.acknowledged()
    assert step_of(block) is Step.LOOK


def test_a_block_that_somebody_else_may_have_sent_is_looked_for():
    block = attempts()
    block.doubt()
    assert step_of(block) is Step.LOOK


def test_a_look_that_tells_nothing_is_repeated():
    block = attempts(is_doubtful=True)
    block.looked(Decision(Verdict.LOOK_AGAIN))
    assert step_of(block) is Step.LOOK


@dataclass
class Part:
    rows: tuple[int, ...]
    replicas: set[int]


@dataclass
class Shard:
    """Replicated table of several partitions, as ClickHouse keeps it."""

    random: random.Random
    quorum: int
    partitions: int
    parts: list[Part] = field(default_factory=list)
    uncommitted: list[Part] = field(default_factory=list)
    """Parts that are shown although their commit failed, or may still arrive."""
    memory: set[tuple[int, ...]] = field(default_factory=set)
    was_forgetful: bool = False
    is_healthy: bool = False

    def happens(self, probability: float = 0.3) -> bool:
        return not self.is_healthy and self.random.random() < probability

    @property
    def has_open_quorum(self) -> bool:
        return any(len(part.replicas) < self.quorum for part in self.parts)

    def fetch(self) -> None:
        for part in self.parts:
            for replica in range(REPLICAS):
                if not self.happens(0.6):
                    part.replicas.add(replica)

    def settle(self) -> None:
        for part in self.uncommitted[:]:
            if self.happens(0.6):
                continue
            self.uncommitted.remove(part)
            is_refused = part.rows in self.memory or (self.quorum > 1 and self.has_open_quorum)
            if not is_refused and self.happens():
                self.memory.add(part.rows)
                self.parts.append(part)

    def forget(self) -> None:
        self.memory.clear()
        self.uncommitted.clear()
        self.was_forgetful = True

    def insert(self, rows: list[int], meanwhile: list[int] | None = None) -> InsertProblem | None:
        """Inserts rows; returns None if the client gets an acknowledgement.

        Args:
            meanwhile: rows that another client inserts after this insert was let in.
        """
        if self.happens():
            return REFUSED
        if self.quorum > 1 and self.has_open_quorum:
            return REFUSED
        if meanwhile is not None:
            self._commit(meanwhile)
        problem = self._commit(rows)
        return UNKNOWN if self.happens() else problem

    def _commit(self, rows: list[int]) -> InsertProblem | None:
        for partition in range(self.partitions):
            part = tuple(row for row in rows if row % self.partitions == partition)
            if not part or part in self.memory:
                continue
            first = self.random.randrange(REPLICAS)
            if self.happens():
                self.uncommitted.append(Part(part, {first}))
                return UNKNOWN
            self.memory.add(part)
            self.parts.append(Part(part, {first}))
            if self.quorum > 1:
                if self.happens():
                    return UNKNOWN
                self.parts[-1].replicas |= {(first + at) % REPLICAS for at in range(self.quorum)}
        return None

    def sight(self) -> Sight:
        answering = [at for at in range(REPLICAS) if not self.happens()] or [0]
        replicas = tuple(
            ReplicaSight(
                rows_on(at, self.parts),
                all(at in part.replicas for part in self.parts),
                rows_on(at, self.uncommitted),
            )
            for at in answering
        )
        return Sight(
            replicas,
            silent=REPLICAS - len(answering),
            uncommitted=sum(len(each.uncommitted) > 0 for each in replicas),
        )


def rows_on(replica: int, parts: list[Part]) -> Identities:
    return identities([row for part in parts if replica in part.replicas for row in part.rows])


def identities(rows: list[int]) -> Identities:
    return Identities(np.array(rows, np.int64), np.zeros(len(rows), np.int64))


@settings(max_examples=2 * settings.default.max_examples)
@given(st.integers(), st.sampled_from([0, 1, 2, 3]), st.integers(1, 3), st.booleans())
def test_every_row_is_stored_once_and_has_its_quorum(seed, quorum, partitions, is_repeated):
    chance = random.Random(seed)
    shard = Shard(chance, quorum, partitions)
    intended = list(range(6))
    # Compaction or a change of the schema: another block than the predecessor's.
    is_same = chance.random() < 0.5 or not is_repeated
    rows = intended if is_same else [row for row in range(8) if row not in (1, 2)]
    # A predecessor that goes on sends the very block that is intended.
    has_zombie = is_same and is_repeated and chance.random() < 0.5
    if is_repeated:
        for _ in range(chance.randrange(3)):
            shard.insert(intended)
    block = attempts(quorum=quorum, is_doubtful=is_repeated)
    has_looked = False
    for step in range(200):
        if block.step is Step.DONE:
            break
        shard.is_healthy = step > 60
        shard.fetch()
        shard.settle()
        # The window passes while attempts fail, not between a look and the attempt after it.
        if not has_looked and not has_zombie and shard.happens(0.2):
            shard.forget()
        if has_looked := block.step is Step.LOOK:
            is_deduplicated = is_same and not block.was_split and not shard.was_forgetful
            seen = shard.sight()
            block.looked(
                decide(identities(rows), seen, quorum=quorum, is_deduplicated=is_deduplicated)
            )
            continue
        sent = [r for r, lacks in zip(rows, lacking(block, rows), strict=True) if lacks]
        zombie = intended if has_zombie and shard.happens() else None
        problem = shard.insert(sent, zombie)
        if problem is None:
            block.acknowledged()
        else:
            block.failed(problem)
    assert block.step is Step.DONE
    kept = [row for part in shard.parts for row in part.rows if row in rows]
    assert sorted(kept) == sorted(rows)
    assert all(len(part.replicas) >= quorum for part in shard.parts if set(part.rows) & set(rows))


def lacking(block: BlockAttempts, rows: list[int]) -> list[bool]:
    return [True] * len(rows) if block.lacking is None else block.lacking.tolist()


def test_an_acknowledgement_counts_until_another_insert_fails():
    block = attempts(is_doubtful=True)
    found = [block.is_acknowledged]
    block.acknowledged()
    found.append(block.is_acknowledged)
    block.failed(REFUSED)
    found.append(block.is_acknowledged)
    assert found == [False, True, False]


# -- Pauses grow up to a limit; contention is met with short ones, another replica with none.

POLICY = RetryPolicy(pause_seconds=0.2, pause_seconds_max=10.0, replicas=3)


def problem(error_class: ErrorClass, code: int | None = None) -> InsertProblem:
    return InsertProblem(error_class, code, "", may_be_stored=False)


def longest(error_class: ErrorClass, failures: int, code: int | None = None) -> float:
    return POLICY.pause(problem(error_class, code), failures, 1.0)


def test_pauses_double_up_to_the_limit():
    pauses = [longest(ErrorClass.SAME_AGAIN, failures) for failures in range(1, 9)]
    assert pauses == [0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 10.0, 10.0]
    assert [POLICY.look_pause(looks, 1.0) for looks in range(1, 9)] == pauses
    assert longest(ErrorClass.SAME_AGAIN, 10_000) == 10.0


def test_every_replica_is_tried_before_there_is_a_pause():
    pauses = [longest(ErrorClass.OTHER_REPLICA, failures) for failures in range(1, 8)]
    assert pauses == [0, 0, 0.2, 0, 0, 0.4, 0]


def test_contention_is_tried_again_soon_however_often_it_was_met():
    assert longest(ErrorClass.SAME_AGAIN, 1000, code=286) == 0.8


def test_what_only_an_operator_can_help_is_tried_seldom():
    assert longest(ErrorClass.STOP, 1) == 10.0


@given(st.sampled_from(ErrorClass), st.integers(1, 100), st.floats(0, 1))
def test_jitter_shortens_a_pause_by_half_at_most(error_class, failures, random):
    pause = POLICY.pause(problem(error_class), failures, random)
    assert longest(error_class, failures) / 2 <= pause <= longest(error_class, failures)


# -- A table is trusted to recognize a block only if it surely remembers it, by ZooKeeper's
# order.

LIST = HashList(table=10, zxid=500, made_s=1_000)
NEW_S, OLD_S = 1_100, 1_000_000


def reaches(memory: BlockMemory, moment: KeeperMoment | None) -> bool:
    return memory.reaches(moment, LIST, window=100, window_seconds=3600)


@pytest.mark.parametrize(
    ("oldest", "is_reached"),
    [(200, True), (300, True), (301, False)],
)
def test_a_full_memory_reaches_back_to_what_was_sent_behind_its_oldest_block(oldest, is_reached):
    assert reaches(BlockMemory(100, oldest, OLD_S), KeeperMoment(300, 10)) is is_reached


@pytest.mark.parametrize("moment", [None, KeeperMoment(10, 10), KeeperMoment(300, 10)])
def test_a_young_memory_that_is_not_full_has_forgotten_nothing(moment):
    assert reaches(BlockMemory(0, 0, 0), moment)
    assert reaches(BlockMemory(99, 301, NEW_S), moment)
    assert not reaches(BlockMemory(100, 301, NEW_S), moment)
    assert not reaches(BlockMemory(99, 301, OLD_S), moment)


@pytest.mark.parametrize("moment", [KeeperMoment(300, 11), KeeperMoment(501, 10)])
def test_a_moment_of_another_table_or_of_a_lost_zookeeper_proves_nothing(moment):
    assert not reaches(BlockMemory(5, 200, NEW_S), moment)
