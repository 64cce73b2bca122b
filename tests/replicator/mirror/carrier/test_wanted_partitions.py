"""No attempt loses a wanted partition, and none brings a dropped one back."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from balancer.topic_partition import TopicPartition
from replicator.mirror.carrier.acquisition import LongWaits, WantedPartitions
from replicator.mirror.ledger.acquired import Acquired, Taken
from tests.replicator.mirror.ledger.held import held

PARTITIONS = [TopicPartition("flights", number) for number in range(6)]
ONE, TWO, *_ = PARTITIONS

some = st.sets(st.sampled_from(PARTITIONS))
reasons = st.dictionaries(st.sampled_from(PARTITIONS), st.sampled_from(["no leader", "refused"]))


def taken(partitions: set[TopicPartition]) -> dict[TopicPartition, Taken]:
    return dict.fromkeys(partitions, Taken(held(), False, 0, 0))


@st.composite
def attempts(draw, asked: set[TopicPartition]) -> Acquired:
    """Returns an attempt that gives each partition asked for exactly one result."""
    acquired = Acquired()
    for partition in asked:
        match draw(st.sampled_from(["taken", "parked", "waiting", "spared"])):
            case "taken":
                acquired.taken |= taken({partition})
            case "parked":
                acquired.parked[partition] = "source topic was deleted"
            case "waiting":
                acquired.waiting[partition] = "no leader"
            case "spared":
                acquired.spared.add(partition)
    return acquired


@given(st.data())
def test_every_wanted_partition_is_taken_or_still_wanted_after_an_attempt(data: Any):
    before = WantedPartitions(data.draw(reasons), data.draw(reasons))
    asked = before.partitions
    acquired = data.draw(attempts(asked))
    dropped, added = data.draw(some), data.draw(some) - asked
    during = before.without(dropped).with_waiting(added)
    after = during.after(asked, acquired, {})
    assert after.partitions == (asked - acquired.taken.keys() - dropped) | added
    assert not after.waiting.keys() & after.parked.keys()
    assert after.parked.keys() == acquired.parked.keys() - dropped


@given(st.data())
def test_a_partition_parked_during_an_attempt_is_retried(data: Any):
    before = WantedPartitions(data.draw(reasons))
    acquired = data.draw(attempts(before.partitions))
    parked = {ONE: "record is larger than the target takes"}
    during = before.without([ONE]).with_parked(ONE, parked[ONE])
    after = during.after(before.partitions, acquired, parked)
    assert after.parked[ONE] == parked[ONE]


@given(reasons, reasons, some)
def test_dropped_partitions_are_neither_waiting_nor_parked(waiting, parked, dropped):
    wanted = WantedPartitions(waiting, parked).without(dropped)
    assert wanted.partitions == (waiting.keys() | parked.keys()) - dropped


def test_a_spared_partition_waits_without_a_reason():
    wanted = WantedPartitions().with_waiting([ONE, TWO])
    acquired = Acquired(spared={ONE}, waiting={TWO: "no leader"})
    assert wanted.after({ONE, TWO}, acquired, {}).waiting == {ONE: "", TWO: "no leader"}


def test_a_reason_is_reported_once_after_it_has_lasted():
    waits = LongWaits()
    waiting = {ONE: "no leader", TWO: ""}
    assert waits.overdue(waiting, 100) == {}
    assert waits.overdue(waiting, 105) == {}
    assert waits.overdue(waiting, 106) == {"no leader": ONE}
    assert waits.overdue(waiting, 200) == {}


def test_a_reason_that_ended_meanwhile_is_reported_again():
    waits = LongWaits()
    waiting = {ONE: "no leader"}
    for now in (100, 106):
        waits.overdue(waiting, now)
    waits.overdue({}, 107)
    assert waits.overdue(waiting, 108) == {}
    assert waits.overdue(waiting, 114) == {"no leader": ONE}
