import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from balancer.demand.window import Window
from balancer.demand.window_columns import WindowColumns, summed
from balancer.topic_partition import TopicPartition
from tests.balancer.demand.one_by_one import one_by_one

WINDOWS = st.builds(
    lambda begin, length, taken, records: Window(begin, begin + length, taken, records),
    st.integers(0, 1 << 42),
    st.integers(1, 1 << 30),
    st.integers(0, 1 << 50),
    st.integers(0, 1 << 40),
)
PARTITIONS = st.builds(TopicPartition, st.sampled_from(["a", "b"]), st.integers(0, 3))
LOOKS = st.dictionaries(PARTITIONS, WINDOWS, max_size=8)


@given(LOOKS)
def test_columns_hold_the_windows_they_were_made_from(windows):
    columns = WindowColumns.of(windows)
    assert one_by_one(columns) == windows
    assert list(columns.partitions) == sorted(windows)


@given(LOOKS, st.integers(0, 1 << 43), st.integers(0, 1 << 43))
def test_ending_selects_the_windows_that_end_between_two_times(windows, begin_ms, end_ms):
    kept = WindowColumns.of(windows).ending(begin_ms, end_ms)
    expected = {p: w for p, w in windows.items() if begin_ms < w.end_ms <= end_ms}
    assert one_by_one(kept) == expected


@given(st.lists(LOOKS, max_size=5))
def test_a_sum_has_the_growth_and_length_of_its_parts(looks):
    found = one_by_one(summed(map(WindowColumns.of, looks)))
    assert set(found) == {partition for look in looks for partition in look}
    for partition, whole in found.items():
        parts = [look[partition] for look in looks if partition in look]
        assert whole.bytes == sum(part.bytes for part in parts)
        assert whole.records == sum(part.records for part in parts)
        assert whole.end_ms - whole.begin_ms == sum(p.end_ms - p.begin_ms for p in parts)
        assert whole.end_ms == max(part.end_ms for part in parts)


@pytest.mark.parametrize("column", range(4))
def test_impossible_windows_are_refused(column):
    right = [np.array([0, 0]), np.array([1, 1]), np.array([0, 0]), np.array([0, 0])]
    partitions = (TopicPartition("t", 0), TopicPartition("t", 1))
    WindowColumns(partitions, *right)
    wrong = [each.copy() for each in right]
    wrong[column][1] = 2 if column == 0 else -1
    with pytest.raises(ValueError):
        WindowColumns(partitions, *wrong)
    with pytest.raises(ValueError, match="2 partitions"):
        WindowColumns(
            partitions, *(each[:1] if at == column else each for at, each in enumerate(right))
        )
