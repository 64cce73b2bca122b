import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from balancer.decision.by_count import by_count
from balancer.plan import TopicPartition
from tests.balancer.decision.routes import at

PLACES = st.builds(TopicPartition, st.sampled_from("abc"), st.integers(0, 12))


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
    st.frozensets(PLACES),
    st.frozensets(st.integers(0, 8), min_size=1),
    st.dictionaries(PLACES, st.integers(0, 8)),
)
def test_what_is_placed_stays_and_the_others_go_where_fewest_are(partitions, carriers, before):
    found = by_count(partitions, carriers, before)
    assert found == one_by_one(partitions, carriers, before)
    assert [*found] == sorted(partitions)


def test_partitions_of_one_topic_go_apart():
    shared = {at(0, "a"): 0, at(1, "a"): 0, at(0, "b"): 1, at(1, "b"): 1}
    found = by_count([*shared, at(2, "a"), at(2, "b")], [0, 1], shared)
    assert found[at(2, "a")] == 1
    assert found[at(2, "b")] == 0


def test_without_a_carrier_it_is_refused():
    with pytest.raises(ValueError, match="give one or more"):
        by_count([at(0)], [], {})


@pytest.mark.parametrize("topics", [1, 300, 100_000])
def test_a_hundred_thousand_on_a_thousand_carriers_take_seconds_at_most(topics):
    places = [TopicPartition(f"t{n % topics}", n // topics) for n in range(100_000)]
    begun = time.process_time()
    found = by_count(places, range(1000), {})
    again = by_count(places, range(1001), found)
    assert time.process_time() - begun < 5
    assert again == found
