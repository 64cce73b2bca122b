"""Windows of columns one by one, as tests compare them."""

from __future__ import annotations

from balancer.demand.window import Window
from balancer.demand.window_columns import WindowColumns
from balancer.topic_partition import TopicPartition


def one_by_one(found: WindowColumns) -> dict[TopicPartition, Window]:
    columns = (found.begins_ms, found.ends_ms, found.bytes, found.records)
    rows = zip(*(column.tolist() for column in columns), strict=True)
    return {each: Window(*row) for each, row in zip(found.partitions, rows, strict=True)}
