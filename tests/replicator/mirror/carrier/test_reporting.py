"""Conditions that a carrier reports: refused partitions, and open transactions."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable
from types import SimpleNamespace
from typing import Any

import pytest

from balancer.topic_partition import TopicPartition
from replicator.config.topology import Route
from replicator.mirror.carrier.carrier_assignment import CarrierAssignment
from replicator.mirror.carrier.lag_clock import LagClock
from replicator.mirror.carrier.receipt_book import ReceiptBook
from replicator.mirror.carrier.reporting import REFUSALS_MIN, Reporting
from replicator.mirror.carrier.transaction_watch import TransactionWatch
from replicator.notices.conditions import Conditions

# -- Reporting of a carrier: partitions that the target refuses are conditions once that lasts.

ORDERS = TopicPartition("orders", 3)


class Pipeline:
    def __init__(self) -> None:
        self.partition, self.refused = ORDERS, ""
        self.records = self.bytes = 0


class Writer:
    def report(self, reports: Iterable[Any]) -> None:
        """Takes reports, and keeps none."""

    def count(self, *_: Any) -> None:
        """Takes counts, and keeps none."""


def reporting(pipeline: Pipeline, conditions: Conditions) -> Reporting:
    assignment = CarrierAssignment(
        route=Route("west", "east"),
        number=1,
        partitions=(ORDERS,),
        term=1,
        plan_version=1,
        deadline=0.0,
    )
    parts: Any = {
        "pace": SimpleNamespace(reports=lambda *_: []),
        "pipelines": {ORDERS: pipeline},
        "committer": SimpleNamespace(parked={}),
        "redis_writer": Writer(),
    }
    return Reporting(receipts=ReceiptBook(assignment, conditions), **parts)


async def test_a_refusal_is_a_condition_once_it_has_lasted_and_until_records_land() -> None:
    pipeline, conditions = Pipeline(), Conditions("carrier 1 of west>east")
    found = reporting(pipeline, conditions)
    pipeline.refused = "NOT_ENOUGH_REPLICAS"
    for _ in range(REFUSALS_MIN - 1):
        await found.report()
    assert conditions.current == ()
    await found.report()
    (one,) = conditions.current
    assert (one.kind, one.route, one.topic, one.partition) == ("refused", "west>east", "orders", 3)
    assert one.text == "the target refuses its records for now: NOT_ENOUGH_REPLICAS"
    pipeline.refused = ""
    await found.report()
    assert conditions.current == ()


async def test_a_refusal_that_ends_soon_is_none() -> None:
    pipeline, conditions = Pipeline(), Conditions("carrier 1 of west>east")
    found = reporting(pipeline, conditions)
    for _ in range(2):
        pipeline.refused = "NOT_LEADER_OR_FOLLOWER"
        for _ in range(REFUSALS_MIN - 1):
            await found.report()
        pipeline.refused = ""
        await found.report()
    assert conditions.current == ()


# -- Watch for open transactions: which are reported, and when they have ended.

PLACE = TopicPartition("orders", 0)


class NamesNoProducer:
    """Source whose leader knows of no open transaction."""

    async def producer_states(self, topic, partition):
        return {}


@pytest.fixture
def pipeline():
    """Pipeline behind a transaction: open at offset 0 for three seconds, ten records follow it."""
    pipeline = SimpleNamespace(clock=LagClock(), source_end=0, source_high=11)
    pipeline.clock.see(time.time() - 3, 0, 11)
    pipeline.clock.see(time.time(), 0, 11)
    return pipeline


@pytest.fixture
def watch(pipeline):
    return TransactionWatch(NamesNoProducer(), {PLACE: pipeline}, ("west>east", 0), 1.0)


def events(caplog):
    return [text.split()[0] for text in caplog.messages]


def test_a_transaction_is_reported_once_however_long_it_stays_open(watch, caplog):
    for _ in range(3):
        asyncio.run(watch.check())
    assert events(caplog) == ["event=source-transaction-open"]


def test_an_end_that_was_fetched_after_the_last_sighting_is_not_taken_for_open(
    watch, pipeline, caplog
):
    asyncio.run(watch.check())
    pipeline.source_end = pipeline.source_high = 12
    asyncio.run(watch.check())
    pipeline.clock.see(time.time(), 12, 12)
    asyncio.run(watch.check())
    assert events(caplog) == ["event=source-transaction-open", "event=source-transaction-ended"]
