"""Runs in any order, overlapping and repeated, become the fewest runs of the same records."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from replicator.mirror.offset_map.run_columns import RunsContradict, merged

# (source offset, target offset) of each record: directly behind the previous one, or further on.
RECORDS = st.lists(st.tuples(st.integers(1, 3), st.integers(1, 3)), max_size=12).map(
    lambda steps: [
        (sum(s for s, _ in steps[: at + 1]), sum(t for _, t in steps[: at + 1]))
        for at in range(len(steps))
    ]
)


def columns(runs):
    return tuple(np.array(runs, dtype=np.int64).reshape(-1, 3).T)


def columns_of(records, data):
    """Returns runs of neighbors that cover all pairs, some of them more than once."""
    runs = [(source, target, 1) for source, target in records]
    for at in range(len(records) - 1):
        is_next = records[at + 1] == (records[at][0] + 1, records[at][1] + 1)
        if is_next and data.draw(st.booleans()):
            runs.append((*records[at], 2))
    return data.draw(st.permutations(runs))


@given(RECORDS, st.data())
def test_merged_runs_cover_the_same_records_and_no_two_are_adjacent(records, data):
    sources, targets, counts = merged(*columns(columns_of(records, data)))
    covered = [
        (int(source) + at, int(target) + at)
        for source, target, count in zip(sources, targets, counts, strict=True)
        for at in range(count)
    ]
    assert covered == records
    ends = zip((sources + counts)[:-1], (targets + counts)[:-1], strict=True)
    assert not any(
        end == begin
        for end, begin in zip(ends, zip(sources[1:], targets[1:], strict=True), strict=True)
    )


@pytest.mark.parametrize("other", [(12, 105, 3), (20, 102, 1)], ids=["record", "target offset"])
def test_a_record_or_a_target_offset_in_two_runs_is_refused_with_both_runs(other):
    source, target, count = other
    found = rf"{source}\.\.{source + count - 1} landed at {target}\.\.{target + count - 1}"
    with pytest.raises(RunsContradict, match=rf"10\.\.14 landed at 100\.\.104, but .* {found}$"):
        merged(*columns([(10, 100, 5), other]))
