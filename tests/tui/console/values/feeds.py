"""Feeds."""

from __future__ import annotations

from dataclasses import replace

from tui.facts.feed_status import FeedPartitionView, FeedView, ShardView, TableState, TableView


def feed() -> FeedView:
    """Returns a feed with one table and two partitions, the second parked."""
    state = TableState(
        parts=41,
        window_blocks=1000,
        window_seconds_max=600.0,
        blocks_per_second=0.5,
        has_coordinates=True,
    )
    loaded = FeedPartitionView(
        cluster="west aggregate",
        topic="orders",
        partition=0,
        shard=0,
        mode="consume",
        committed=1_200_000,
        end=1_200_150,
        lag_records=150,
        lag_seconds=0.9,
        buffered_bytes=120_000,
        rows_per_second=800.0,
        dead_letters=0,
        loader=1,
        blocks=(),
        custody="held",
        parked=None,
        frozen=None,
    )
    stuck = replace(
        loaded, partition=1, mode="parked", custody="parked", parked="a record is too large"
    )
    return FeedView(
        feed="ticks",
        region="west",
        shards=(
            ShardView(number=0, database="ticks", tables=(TableView(table="o", state=state),)),
        ),
        partitions=(loaded, stuck),
        unknown_clusters=(),
        orders=(),
        problems=(),
    )


def object_feed() -> FeedView:
    """Returns the same feed into S3, the first partition with open objects."""
    loaded, stuck = feed().partitions
    return replace(
        feed(),
        feed="lake",
        kind="s3",
        shards=(),
        partitions=(
            replace(loaded, shard=None, lag_seconds=4000.0, open_objects=3, open_seconds=300.0),
            replace(stuck, shard=None, open_objects=0, open_seconds=0.0),
        ),
    )
