"""Placement by count after the carriers have changed: leveled counts, with the fewest moves."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from balancer.decision.levelled import levelled
from balancer.plan import TopicPartition

places = st.builds(TopicPartition, st.sampled_from("abc"), st.integers(0, 20))
placements = st.dictionaries(places, st.integers(0, 6), max_size=40)
some_carriers = st.sets(st.integers(0, 9), min_size=1)


@given(placements, some_carriers)
def test_counts_differ_by_one_at_most(before, carriers):
    counts = Counter(dict.fromkeys(carriers, 0))
    counts.update(levelled(before, carriers, before).values())
    assert counts.keys() == carriers
    assert max(counts.values()) - min(counts.values()) <= 1


@given(placements, some_carriers)
def test_no_more_moves_than_any_level_placement_takes(before, carriers):
    after = levelled(before, carriers, before)
    held = sorted((Counter(before.values())[carrier] for carrier in carriers), reverse=True)
    share, rest = divmod(len(before), len(carriers))
    stay = sum(min(count, share + (at < rest)) for at, count in enumerate(held))
    assert sum(after[each] != carrier for each, carrier in before.items()) == len(before) - stay


def test_without_a_carrier_it_is_an_error():
    with pytest.raises(ValueError, match="no carrier"):
        levelled([TopicPartition("a", 0)], [], {})
