import time
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from balancer.decision.by_count import level_by_count, place_by_count
from balancer.topic_partition import TopicPartition
from tests.balancer.decision.routes import at

PARTITIONS = st.builds(TopicPartition, st.sampled_from("abc"), st.integers(0, 12))


def one_by_one(partitions, carriers, before):
    """Computes the placement straight from the definition."""
    where = {each: before[each] for each in partitions if before.get(each) in carriers}
    for each in sorted(set(partitions) - where.keys()):
        counts = {c: sum(at == c for at in where.values()) for c in carriers}
        same = {
            c: sum(p.topic == each.topic and at == c for p, at in where.items()) for c in carriers
        }
        where[each] = min(carriers, key=lambda c: (counts[c], same[c], c))
    return where


@given(
    st.frozensets(PARTITIONS),
    st.frozensets(st.integers(0, 8), min_size=1),
    st.dictionaries(PARTITIONS, st.integers(0, 8)),
)
def test_placed_partitions_stay_and_others_go_to_the_carrier_with_the_fewest(
    partitions, carriers, before
):
    found = place_by_count(partitions, carriers, before)
    assert found == one_by_one(partitions, carriers, before)
    assert [*found] == sorted(partitions)


def test_partitions_of_one_topic_are_spread():
    shared = {at(0, "a"): 0, at(1, "a"): 0, at(0, "b"): 1, at(1, "b"): 1}
    found = place_by_count([*shared, at(2, "a"), at(2, "b")], [0, 1], shared)
    assert found[at(2, "a")] == 1
    assert found[at(2, "b")] == 0


def test_placing_without_a_carrier_is_refused():
    with pytest.raises(ValueError, match="give one or more"):
        place_by_count([at(0)], [], {})


@pytest.mark.parametrize(
    ("partitions", "topics", "seconds_max"),
    [(30_000, 1, 2), (30_000, 300, 2), (100_000, 100_000, 5)],
)
def test_placing_many_partitions_on_a_thousand_carriers_takes_at_most_seconds(
    partitions, topics, seconds_max
):
    places = [TopicPartition(f"t{n % topics}", n // topics) for n in range(partitions)]
    begun = time.process_time()
    found = place_by_count(places, range(1000), {})
    again = place_by_count(places, range(1001), found)
    assert time.process_time() - begun < seconds_max
    assert again == found


PLACEMENTS = st.dictionaries(
    st.builds(TopicPartition, st.sampled_from("abc"), st.integers(0, 20)),
    st.integers(0, 6),
    max_size=40,
)
CARRIERS = st.sets(st.integers(0, 9), min_size=1)


@given(PLACEMENTS, CARRIERS)
def test_leveled_counts_differ_by_at_most_one(before, carriers):
    counts = Counter(dict.fromkeys(carriers, 0))
    counts.update(level_by_count(before, carriers, before).values())
    assert counts.keys() == carriers
    assert max(counts.values()) - min(counts.values()) <= 1


@given(PLACEMENTS, CARRIERS)
def test_leveling_makes_as_few_moves_as_any_level_placement(before, carriers):
    after = level_by_count(before, carriers, before)
    held = sorted((Counter(before.values())[carrier] for carrier in carriers), reverse=True)
    share, rest = divmod(len(before), len(carriers))
    stay = sum(min(count, share + (at < rest)) for at, count in enumerate(held))
    assert sum(after[each] != carrier for each, carrier in before.items()) == len(before) - stay


def test_leveling_without_a_carrier_is_refused():
    with pytest.raises(ValueError, match="no carrier"):
        level_by_count([TopicPartition("a", 0)], [], {})
