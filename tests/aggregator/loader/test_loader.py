"""Loaders: sessions that begin again, and receipts of blocks."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from types import SimpleNamespace

import pytest

from aggregator.loader.counters import RESTARTS, ROWS
from aggregator.loader.loader import load
from aggregator.loader.receipts import SCHEMA, BlockReceipt, to_arrow
from balancer.topic_partition import TopicPartition
from replicator.kafka.client.cluster import Fenced
from replicator.spark.driver_command import TermSuperseded

# -- Loader: however its epoch ends, its last totals are written.

FENCED, SUPERSEDED = Fenced("west regional", [90]), TermSuperseded("the leading driver is 5")


class Sessions:
    """Sessions that count a row each, and end in turn. After the last one the epoch is over.

    None ends a session without an error.
    """

    def __init__(self, *ends):
        self.ends, self.made = list(ends), 0
        self.written: list[tuple[float, dict[str, float]]] = []

    def __call__(self, appliance, assignment, stored, loader_counts):
        self.made += 1

        async def run():
            loader_counts.add(ROWS, "t", "hits")
            end = self.ends.pop(0)
            if not self.ends:
                assignment.deadline = 0.0
            if end is not None:
                raise end

        async def finish():
            self.written.append(
                (loader_counts.value(ROWS, "t", "hits"), loader_counts.by_label(RESTARTS, "reason"))
            )

        return SimpleNamespace(run=run, reporting=SimpleNamespace(finish=finish))


def assignment(seconds=60.0):
    return SimpleNamespace(
        feed=SimpleNamespace(name="flights"),
        cluster="west regional",
        number=1,
        plan_version=3,
        deadline=time.monotonic() + seconds,
        log_fields="feed=flights",
    )


def restarts(**counts):
    return {"fenced": 0, "unreachable": 0, "failed": 0, **counts}


async def test_an_epoch_that_ends_without_an_error_writes_what_it_counted():
    sessions = Sessions(None)
    await load(None, assignment(), sessions)
    assert sessions.written == [(1, restarts())]


async def test_a_fence_and_what_was_counted_before_it_are_written_though_another_driver_leads():
    sessions = Sessions(FENCED, SUPERSEDED)
    with pytest.raises(TermSuperseded):
        await load(None, assignment(), sessions)
    assert sessions.written == [(2, restarts(fenced=1))]


async def test_what_a_failed_session_counted_is_written_though_the_epoch_is_over():
    sessions = Sessions(OSError("gone"))
    await load(None, assignment(), sessions)
    assert (sessions.made, sessions.written) == (1, [(1, restarts(unreachable=1))])


async def test_an_unexpected_error_is_counted_and_written_before_it_ends_the_loader():
    sessions = Sessions(KeyError("unexpected"))
    with pytest.raises(KeyError):
        await load(None, assignment(), sessions)
    assert sessions.written == [(1, restarts(failed=1))]


async def test_an_epoch_that_is_over_has_no_session():
    sessions = Sessions()
    assert not len(await load(None, assignment(seconds=-1.0), sessions))
    assert (sessions.made, sessions.written) == (0, [])


# -- Receipts of blocks, in the form that Spark takes.

RECEIPT = BlockReceipt(
    place=TopicPartition("docs", 3),
    table="flights",
    begin=10,
    end=20,
    records=9,
    rows=8,
    dead_letters=1,
    is_replayed=True,
    sealed_at_ms=1_700_000_000_123,
    loaded_at_ms=1_700_000_001_000,
)


def test_a_receipt_says_what_was_stored_and_when():
    [row] = to_arrow("feed", "east aggregate", 2, 7, [RECEIPT]).to_pylist()
    assert (row["table"], row["begin"], row["end"], row["rows"]) == ("flights", 10, 20, 8)
    assert row["sealed_at"] == datetime.fromtimestamp(1_700_000_000.123, UTC)
    assert row["replayed"] is True


def test_times_have_the_resolution_of_microseconds():
    assert [str(SCHEMA.field(name).type) for name in ("sealed_at", "ended_at")] == [
        "timestamp[us, tz=UTC]"
    ] * 2


def test_no_blocks_give_no_rows():
    assert to_arrow("feed", "east aggregate", 0, 1, []).num_rows == 0
