from uuid import UUID

import pytest

from replicator.placement.traffic.log_snapshot import LogState

ID = UUID(int=1)


@pytest.mark.parametrize(
    ("start", "end", "size_bytes", "density"),
    [(10, 30, 4000, 200.0), (0, 30, None, None), (30, 30, 500, None), (0, 30, 0, None)],
)
def test_a_log_says_how_dense_it_is_where_it_has_both_records_and_a_size(
    start, end, size_bytes, density
):
    assert LogState(ID, 1, start, end, size_bytes).density == density
