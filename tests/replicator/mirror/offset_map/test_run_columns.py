"""Runs in any order, overlapping and repeated, become the fewest runs of the same records."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from replicator.mirror.offset_map.run_columns import RunsContradict, merged

# (source offset, target offset) of each record: directly behind the previous one, or further on.
PLACES = st.lists(st.tuples(st.integers(1, 3), st.integers(1, 3)), max_size=12).map(
    lambda steps: [
        (sum(s for s, _ in steps[: at + 1]), sum(t for _, t in steps[: at + 1]))
        for at in range(len(steps))
    ]
)


def columns(runs):
    return tuple(np.array(runs, dtype=np.int64).reshape(-1, 3).T)


def told(places, data):
    """Returns runs of neighbors that cover all pairs, some of them more than once."""
    runs = [(source, target, 1) for source, target in places]
    for at in range(len(places) - 1):
        is_next = places[at + 1] == (places[at][0] + 1, places[at][1] + 1)
        if is_next and data.draw(st.booleans()):
            runs.append((*places[at], 2))
    return data.draw(st.permutations(runs))


@given(PLACES, st.data())
def test_they_cover_the_same_records_and_no_two_are_adjacent(places, data):
    sources, targets, counts = merged(*columns(told(places, data)))
    covered = [
        (int(source) + at, int(target) + at)
        for source, target, count in zip(sources, targets, counts, strict=True)
        for at in range(count)
    ]
    assert covered == places
    ends = zip((sources + counts)[:-1], (targets + counts)[:-1], strict=True)
    assert not any(
        end == begin
        for end, begin in zip(ends, zip(sources[1:], targets[1:], strict=True), strict=True)
    )


@pytest.mark.parametrize("other", [(12, 105, 3), (20, 102, 1)], ids=["its record", "its place"])
def test_a_record_or_a_place_told_twice_is_refused_with_both_runs(other):
    source, target, count = other
    told = rf"{source}\.\.{source + count - 1} landed at {target}\.\.{target + count - 1}"
    with pytest.raises(RunsContradict, match=rf"10\.\.14 landed at 100\.\.104, but .* {told}$"):
        merged(*columns([(10, 100, 5), other]))
