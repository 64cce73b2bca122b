"""Partitions that may be acquired, by their entries, releases and driver commands."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from balancer.topic_partition import TopicPartition
from replicator.kafka.client.loss import Loss, LossKind
from replicator.mirror.carrier.releases import Releases
from replicator.mirror.ledger.entry import Custody
from tests.replicator.mirror.ledger.held import held

ONE = TopicPartition("flights", 1)
OURS, OTHERS = "sluice.west.east.3", "sluice.west.east.4"
FREE = held(
    custody=Custody.RELEASED,
    source_offset=10,
    target_offset=10,
    transactional_id="sluice.west.east.3.handed",
)
HELD_BY_US = replace(FREE, custody=Custody.HELD, transactional_id=OURS)
HELD_BEFORE_A_ROTATION = replace(HELD_BY_US, transactional_id=f"{OURS}~1")
HELD_BY_OTHERS = replace(HELD_BY_US, transactional_id=OTHERS)
PARKED = replace(HELD_BY_OTHERS, parked=Loss(LossKind.SOURCE_DELETED, 1, 2))
VIRGIN = replace(FREE, custody=Custody.VIRGIN, transactional_id="sluice.west.east.free")
NOBODYS = [FREE, VIRGIN, PARKED]


@pytest.fixture
def releases():
    return Releases(OURS, promise_seconds=20)


@pytest.mark.parametrize("entry", [*NOBODYS, HELD_BY_US])
def test_a_partition_that_no_other_carrier_holds_may_be_acquired_at_once(releases, entry):
    assert releases.spared({ONE: entry}, 0) == set()
    assert not releases.is_awaiting


def test_another_carriers_partition_may_be_acquired_after_a_command_read_since_it_was_seen(
    releases,
):
    releases.heard(99)
    assert releases.spared({ONE: HELD_BY_OTHERS}, 100) == {ONE}
    releases.heard(100)
    assert releases.is_awaiting
    assert releases.spared({ONE: HELD_BY_OTHERS}, 101) == {ONE}
    releases.heard(101)
    assert not releases.is_awaiting
    assert releases.spared({ONE: HELD_BY_OTHERS}, 102) == set()


def test_a_partition_released_meanwhile_is_seen_as_held_anew(releases):
    releases.spared({ONE: HELD_BY_OTHERS}, 100)
    releases.spared({ONE: FREE}, 101)
    releases.heard(102)
    assert releases.spared({ONE: HELD_BY_OTHERS}, 103) == {ONE}


def test_a_promised_partition_is_left_to_its_holder_until_its_release_or_the_time_limit(releases):
    releases.promise([ONE], 100)
    releases.heard(118)
    assert releases.spared({ONE: HELD_BY_OTHERS}, 117) == {ONE}
    assert releases.spared({ONE: HELD_BY_OTHERS}, 119) == {ONE}
    assert releases.lost({ONE}) == set()
    assert releases.spared({ONE: FREE}, 119) == set()
    # Another carrier has acquired it first.
    assert releases.spared({ONE: HELD_BY_OTHERS}, 119) == {ONE}
    assert releases.is_awaiting
    releases.heard(120)
    assert releases.spared({ONE: HELD_BY_OTHERS}, 121) == set()
    assert not releases.is_awaiting


@pytest.mark.parametrize("entry", [*NOBODYS, HELD_BY_US, HELD_BEFORE_A_ROTATION])
def test_a_promised_partition_that_no_other_carrier_holds_may_be_acquired_at_once(releases, entry):
    releases.promise([ONE], 100)
    assert releases.spared({ONE: entry}, 100) == set()


@pytest.mark.parametrize("entry", [HELD_BY_US, HELD_BEFORE_A_ROTATION])
def test_a_partition_held_under_our_own_id_is_reclaimed(releases, entry):
    releases.reclaim([ONE])
    assert releases.spared({ONE: entry}, 0) == set()


@pytest.mark.parametrize("entry", [*NOBODYS, HELD_BY_OTHERS])
def test_a_partition_that_was_handed_over_is_not_reclaimed(releases, entry):
    releases.reclaim([ONE])
    assert releases.spared({ONE: entry}, 0) == {ONE}
    assert releases.lost({ONE}) == {ONE}


def test_a_partition_without_an_entry_is_not_reclaimed_but_acquired_if_it_is_assigned(releases):
    releases.reclaim([ONE])
    assert releases.spared({ONE: None}, 0) == {ONE}
    releases.forget([ONE])
    assert releases.spared({ONE: None}, 0) == set()


def test_a_partition_that_comes_back_is_awaited_and_not_lost(releases):
    releases.reclaim([ONE])
    releases.promise([ONE], 0)
    assert releases.spared({ONE: HELD_BY_OTHERS}, 1) == {ONE}
    assert releases.lost({ONE}) == set()


def test_unwanted_partitions_are_forgotten(releases):
    releases.promise([ONE], 0)
    releases.reclaim([ONE])
    releases.forget([ONE])
    assert not releases.is_awaiting
    assert releases.lost({ONE}) == set()


ENTRIES = [None, *NOBODYS, HELD_BY_US, HELD_BEFORE_A_ROTATION, HELD_BY_OTHERS]
steps = st.lists(
    st.tuples(
        st.sampled_from(["promise", "reclaim", "heard", "forget", "read"]),
        st.sampled_from(ENTRIES),
        st.integers(0, 15),
    ),
    max_size=30,
)


@given(steps)
def test_another_carriers_partition_is_only_fenced_after_promise_and_command(history):
    """Replays what the carrier does, and keeps the two conditions apart from the class."""
    releases = Releases(OURS, promise_seconds=20)
    now, promised_until, is_reclaimed = 0, -1, False
    heard, seen_at = -1, None
    for step, entry, seconds in history:
        now += seconds
        match step:
            case "promise":
                releases.promise([ONE], now)
                promised_until, is_reclaimed = now + 20, False
            case "reclaim":
                releases.reclaim([ONE])
                is_reclaimed = True
            case "heard":
                releases.heard(now)
                heard = now
            case "forget":
                releases.forget([ONE])
                promised_until, is_reclaimed, seen_at = -1, False, None
            case "read":
                is_spared = releases.spared({ONE: entry}, now) == {ONE}
                if is_reclaimed:
                    assert is_spared == (entry not in (HELD_BY_US, HELD_BEFORE_A_ROTATION))
                    assert releases.lost({ONE}) == {ONE}
                    continue
                assert releases.lost({ONE}) == set()
                if entry is not HELD_BY_OTHERS:
                    assert not is_spared
                    seen_at = None
                    continue
                seen_at = now if seen_at is None else seen_at
                assert is_spared == (now <= promised_until or seen_at >= heard)
