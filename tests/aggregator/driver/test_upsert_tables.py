"""Conditions that the upsert tables of a region tell."""

from __future__ import annotations

from pathlib import Path
from uuid import UUID

from aggregator.driver.upsert_tables import UpsertTables
from aggregator.upsert.tick import Lane
from replicator.config.topology import Appliance
from replicator.notices.condition import Kind
from replicator.notices.conditions import Conditions
from replicator.orders.order_log import OrderLog

LANE = Lane("west aggregate", "orders", UUID(int=1), 0)


async def no_successor() -> bool:
    return False


def tables(conditions: Conditions) -> UpsertTables:
    return UpsertTables(
        Appliance.model_construct(), "west", Path(), conditions, OrderLog, no_successor
    )


def test_a_stopped_partition_of_the_daemon_before_is_over_once_a_table_tells_of_none():
    before, now = Conditions("aggregate west"), Conditions("aggregate west")
    tables(before).tell_losses(("flights", "orders"), {LANE: "lost"})
    [told] = before.current
    assert told.kind == Kind.UPSERT_LANE_STOPPED
    now.inherit(before.current)
    assert list(now.current) == [told]
    tables(now).tell_losses(("flights", "orders"), {})
    assert not now.current
