import pytest
from hypothesis import given
from hypothesis import strategies as st

from balancer.demand.demand import Basis, Demand, believed, demands, measured_part
from balancer.topic_partition import TopicPartition

A, B, C = (TopicPartition("clicks", number) for number in range(3))
OTHER = TopicPartition("views", 0)


def test_sources_rank_measurement_then_file_then_topic_mean_then_default():
    assert demands({A: 0.1}, {A: 9.0, B: 0.3}, [A, B, C, OTHER], 0.05) == {
        A: Demand(0.1, Basis.MEASURED),
        B: Demand(0.3, Basis.FILE),
        C: Demand(0.2, Basis.TOPIC),
        OTHER: Demand(0.05, Basis.DEFAULT),
    }


def test_an_idle_partition_counts_as_measured():
    assert demands({A: 0.0}, {A: 0.2}, [A], 0.5)[A] == Demand(0.0, Basis.MEASURED)


def test_the_measured_part_counts_wanted_partitions_only():
    assert measured_part({A, OTHER}, {A, B}) == 0.5
    assert measured_part(set(), set()) == 1.0


@pytest.mark.parametrize(
    ("share", "why"),
    [
        (float("nan"), "not a number"),
        (float("inf"), "not a number"),
        (-0.1, "negative"),
        (2e6, "more than any partition takes"),
        (100.1, "1001 times the former one"),
    ],
)
def test_a_doubted_share_is_named_and_the_former_one_kept(share, why):
    found = believed({A: share, B: 0.2}, {}, {A: 0.1, B: 0.1})
    assert found.shares == {A: 0.1, B: 0.2}
    assert why in found.doubts[A]


def rounds(*shares):
    """Returns the believed share after each round, given the observed shares."""
    seen, held, found = {}, {}, []
    for share in shares:
        held = believed({A: share}, seen, held).shares
        seen = {A: share}
        found.append(held.get(A))
    return found


NO = float("nan")


@pytest.mark.parametrize(
    ("shares", "found"),
    [
        ((0.1, 200.0, 200.0), [0.1, 0.1, 200.0]),
        ((0.1, 100.0), [0.1, 100.0]),
        ((0.1, 200.0, 0.1), [0.1, 0.1, 0.1]),
        ((0.1, NO, 500.0, 500.0), [0.1, 0.1, 0.1, 500.0]),
        ((0.1, NO, NO, NO), [0.1, 0.1, 0.1, 0.1]),
        ((0.1, 200.0, 3e5, 3e5), [0.1, 0.1, 0.1, 3e5]),
        ((NO, 0.3), [None, 0.3]),
        ((0.0, 0.9), [0.0, 0.9]),
    ],
)
def test_a_jump_is_believed_once_it_is_seen_twice(shares, found):
    assert rounds(*shares) == found


@given(st.dictionaries(st.sampled_from([A, B, C]), st.floats()))
def test_every_share_is_believed_or_doubted(new):
    found = believed(new, {}, {A: 0.1})
    assert found.doubts.keys() | found.shares.keys() == new.keys()
    assert all(0 <= share < float("inf") for share in found.shares.values())
