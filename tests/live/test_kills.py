"""Carrier processes killed, stopped and woken under traffic: every record arrives exactly once."""

from __future__ import annotations

import random
import signal

import pytest

from deploy.lab.process import Process
from deploy.lab.traffic import PLAIN, Shape
from deploy.lab.wait import until
from tests.live.carrying import Carrying
from tests.live.sending import Sending
from tests.live.stage import make_on_both
from tests.live.topics import new_name

PARTITIONS = 4
TRANSACTIONS = Shape(transaction_records=50, abort_every=3)

GROUPS_TOUCHED = 2
"""Number of the ledger's groups that hold the entries of partitions 0 to 3 of a topic, by hash."""
FIRST_STEPS = [
    ("OffsetFetch", 2, "after"),  # the entries were read, nothing is held
    ("InitProducerId", 1, "after"),  # the carrier's own writer
    ("InitProducerId", 2, "after"),  # custody of an entry that names another id
]
"""Requests of a carrier that acquires partitions never carried before."""
STEPS = [
    ("AddOffsetsToTxn", 1, "after"),  # a group's coordinator has to write
    ("EndTxn", 1, "before"),
    ("EndTxn", 1, "after"),
    ("DescribeProducers", 1, "after"),
    ("AddPartitionsToTxn", 1, "before"),  # the fence
    ("AddPartitionsToTxn", 1, "after"),
    ("EndTxn", 2, "before"),  # the fence's marker
    ("EndTxn", 2, "after"),
    ("TxnOffsetCommit", GROUPS_TOUCHED + 1, "before"),  # the new entries
    ("TxnOffsetCommit", GROUPS_TOUCHED + 1, "after"),
    ("EndTxn", 3, "before"),
    ("EndTxn", 3, "after"),
    ("Fetch", 3, "after"),
    ("Produce", 1, "before"),
    ("Produce", 1, "after"),
    ("Produce", 7, "before"),
    ("Produce", 7, "after"),
    ("EndTxn", 5, "before"),
    ("EndTxn", 5, "after"),
]
"""Requests of a carrier that takes over from one that was killed while it held everything."""
DEATH_SECONDS = 30.0


@pytest.fixture
def carrying(regional, aggregate, redis):
    with Carrying({"west": regional}, aggregate, redis, ledger_seconds=0.5) as carrying:
        topic = new_name("kills")
        make_on_both(regional, aggregate, topic, PARTITIONS)
        carrying.adopt(topic, PARTITIONS)
        yield carrying


@pytest.mark.parametrize(
    "shape",
    [pytest.param(PLAIN, marks=pytest.mark.soak), TRANSACTIONS],
    ids=["plain", "transactions"],
)
def test_death_at_any_step_loses_and_repeats_nothing(carrying, regional, shape):
    (topic,) = carrying.topics
    with Sending(regional, topic, PARTITIONS, shape) as sending:
        reached = [step for step in FIRST_STEPS if dies_at(carrying, *step)]
        holder = carrying.begin_process()
        carrying.until_held_by(holder)
        sending.until_sent(200)
        holder.kill()
        for step in STEPS:
            sending.until_sent(200)
            if dies_at(carrying, *step):
                reached.append(step)
    assert reached == FIRST_STEPS + STEPS
    carrying.carry_all()
    assert carrying.assert_exact(redis_may_lack=True) > 0


def dies_at(carrying: Carrying, name: str, nth: int, when: str) -> bool:
    """Returns True when the carrier killed itself at the step; it is dead in any case."""
    process = carrying.begin_process("tests.live.dying", name, str(nth), when)
    if not until(lambda: not process.is_running(), DEATH_SECONDS):
        process.kill()
        return False
    return process.wait() == -signal.SIGKILL


@pytest.mark.parametrize(
    "shape",
    [
        pytest.param(PLAIN, marks=pytest.mark.core),
        pytest.param(TRANSACTIONS, marks=pytest.mark.soak),
    ],
    ids=["plain", "transactions"],
)
@pytest.mark.parametrize("kills", [12, pytest.param(300, marks=pytest.mark.soak)])
@pytest.mark.timeout(3600)
def test_kills_at_random_moments_lose_and_repeat_nothing(carrying, regional, shape, kills):
    (topic,) = carrying.topics
    chance = random.Random(kills)
    with Sending(regional, topic, PARTITIONS, shape) as sending:
        for _ in range(kills):
            process = carrying.begin_process()
            carrying.until_held_by(process)
            sending.until_sent(chance.randrange(0, 4000))
            process.kill()
    carrying.carry_all()
    assert carrying.assert_exact(redis_may_lack=True) > 0


@pytest.mark.parametrize(
    "zombies", [pytest.param(4, marks=pytest.mark.core), pytest.param(60, marks=pytest.mark.soak)]
)
@pytest.mark.timeout(3600)
def test_a_stopped_carrier_that_wakes_up_finds_its_partitions_gone(carrying, regional, zombies):
    (topic,) = carrying.topics
    stopped: list[Process] = []
    with Sending(regional, topic, PARTITIONS) as sending:
        for number in range(zombies):
            process = carrying.begin_process()
            carrying.until_held_by(process)
            sending.until_sent(400 * (number % 5))
            process.send(signal.SIGSTOP)
            stopped.append(process)
        successor = carrying.begin_process()
        carrying.until_held_by(successor)
        for process in stopped:
            process.send(signal.SIGCONT)
        # Each reads the command of the newer plan or the fencing error, and ends by itself.
        for process in stopped:
            assert until(lambda process=process: not process.is_running(), 60.0)
        carrying.until_held_by(successor)
        sending.until_sent(2000)
        successor.kill()
    carrying.carry_all()
    assert carrying.assert_exact(redis_may_lack=True) > 0
