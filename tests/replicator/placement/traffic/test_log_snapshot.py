from uuid import UUID

import pytest

from balancer.plan import TopicPartition
from replicator.placement.traffic.log_snapshot import Look, SeenLog

ID = UUID(int=1)


@pytest.mark.parametrize(
    ("start", "end", "size_bytes", "density"),
    [(10, 30, 4000, 200.0), (0, 30, None, None), (30, 30, 500, None), (0, 30, 0, None)],
)
def test_a_log_says_how_dense_it_is_where_it_has_both_records_and_a_size(
    start, end, size_bytes, density
):
    assert SeenLog(ID, 1, start, end, size_bytes).density == density


def test_a_look_tells_how_many_sizes_it_lacks():
    logs = {
        TopicPartition("t", number): SeenLog(ID, 1, 0, 9, size_bytes)
        for number, size_bytes in enumerate([90, None, 0, None])
    }
    assert Look(0, logs).unsized == 2
