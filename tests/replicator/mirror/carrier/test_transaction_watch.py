"""Watch for open transactions: which are reported, and when they have ended."""

import asyncio
import time
from types import SimpleNamespace

import pytest

from balancer.topic_partition import TopicPartition
from replicator.mirror.carrier.lag_clock import LagClock
from replicator.mirror.carrier.transaction_watch import TransactionWatch

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
