"""Tests of reading ranges of several partitions, from brokers whose logs the tests set up."""

from __future__ import annotations

import struct
from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aggregator.upsert.range_reader import (
    LostRange,
    RangeAway,
    RangeLost,
    RangeReader,
    lost_range,
    spans_of,
    with_gap,
    without_gaps,
)
from aggregator.upsert.tick import Lane, Stop
from replicator.kafka.client.cluster import Forbidden
from replicator.kafka.client.loss import Loss, LossKind
from replicator.kafka.protocol.error_codes import Code
from tests.aggregator.upsert.played_brokers import ORDERS, Log, batch, brokers, span
from tests.aggregator.upsert.tick_records import tick_of
from tests.replicator.batches.source_batches import Record, encoded, with_crc


async def read(spans, *clusters, patience_seconds=0.2, **options):
    reader = RangeReader({each.name: each for each in clusters}, patience_seconds, **options)
    return [(part.lane, part.records.offset.tolist()) async for part in reader.read(spans)]


def offsets(found) -> list[tuple[int, int]]:
    return [(lane, offset) for lane, some in found for offset in some]


def test_some_records_of_a_tick_are_spans_of_its_lanes():
    tick = tick_of((10, 15), (3, 3), (100, 104))
    assert [(each.number, each.begin, each.end) for each in spans_of(tick, 0, 9)] == [
        (0, 10, 15),
        (2, 100, 104),
    ]
    assert [(each.number, each.begin, each.end) for each in spans_of(tick, 4, 6)] == [
        (0, 14, 15),
        (2, 100, 101),
    ]
    assert spans_of(tick, 9, 20) == []
    tick = replace(tick, epochs=(3, 4, 5))
    assert [each.epoch for each in spans_of(tick, 0, 9)] == [3, 5]


async def test_spans_of_several_clusters_come_in_their_order_and_no_offset_beside_them():
    west = brokers(
        orders0=Log.of(batch(0, 1, 2), batch(3, 4), stable=5),
        orders1=Log.of(batch(7, 8), stable=9),
    )
    east = brokers("east regional", returns0=Log.of(batch(0, 1), batch(2), stable=3))
    spans = [
        span(0, 0, 1, 4),
        span(1, 0, 0, 2, topic="returns", cluster="east regional"),
        span(2, 1, 7, 9),
    ]
    found = await read(spans, west, east)
    assert offsets(found) == [(0, 1), (0, 2), (0, 3), (1, 0), (1, 1), (2, 7), (2, 8)]


async def test_a_range_with_gaps_is_read_to_its_end():
    log = Log.of(batch(2, 5, base=0, end=8), batch(20), batch(31, base=30, end=40), stable=50)
    found = await read([span(0, 0, 0, 12)], brokers(orders0=log))
    assert offsets(found) == [(0, 2), (0, 5)]
    # The log has nothing behind offset 40.
    found = await read([span(0, 0, 10, 50)], brokers(orders0=log))
    assert offsets(found) == [(0, 20), (0, 31)]
    assert await read([span(0, 0, 8, 20)], brokers(orders0=log)) == []


async def test_a_batch_that_is_larger_than_the_fetch_is_read_all_the_same():
    log = Log.of(batch(0, bytes_each=9_000_000), batch(1), stable=2)
    assert offsets(await read([span(0, 0, 0, 2)], brokers(orders0=log))) == [(0, 0), (0, 1)]


async def test_one_request_asks_a_broker_for_all_of_its_partitions():
    logs = {f"orders{number}": Log.of(batch(0, 1), stable=2) for number in range(6)}
    cluster = brokers(**logs)
    await read([span(number, number, 0, 2) for number in range(6)], cluster)
    assert [len(asked) for asked in cluster.fetches] == [3, 3]


async def test_partitions_that_an_answer_has_no_room_for_are_asked_for_again():
    logs = {f"orders{at}": Log.of(batch(0, 1, bytes_each=2000), stable=2) for at in (0, 2, 4)}
    cluster = brokers(**logs)
    cluster.response_bytes_max = 5000
    found = await read([span(at, 2 * at, 0, 2) for at in range(3)], cluster)
    assert offsets(found) == [(lane, offset) for lane in range(3) for offset in (0, 1)]


async def test_a_fetch_takes_little_more_than_its_range():
    log = Log.of(*(batch(at) for at in range(10_000)), stable=10_000)
    cluster = brokers(orders0=log)
    await read([span(0, 0, 100, 200)], cluster)
    assert sum(size for asked in cluster.fetches for *_, size in asked) < 100_000


async def test_records_that_wait_for_a_lane_before_them_are_bounded():
    many = [batch(at, bytes_each=10_000) for at in range(40)]
    cluster = brokers(orders0=Log.of(*many, stable=40), orders2=Log.of(*many, stable=40))
    await read([span(0, 0, 0, 40), span(1, 2, 0, 40)], cluster, buffered_bytes_max=50_000)
    both = [asked for asked in cluster.fetches if len(asked) == 2]
    # Until the first lane is read, the other one waits with what two fetches have brought.
    assert len(both) == 2


async def test_an_election_is_waited_for():
    cluster = brokers(orders0=Log.of(batch(0, 1), stable=2))
    cluster.codes[ORDERS, 0] = [Code.NOT_LEADER_OR_FOLLOWER, Code.UNKNOWN_TOPIC_ID]
    assert offsets(await read([span(0, 0, 0, 2)], cluster)) == [(0, 0), (0, 1)]


async def test_a_broker_that_stays_away_is_given_up_by_name():
    cluster = brokers(orders0=Log.of(batch(0), stable=1))
    cluster.nodes_away = {0}
    with pytest.raises(RangeAway, match="west regional.*connection refused"):
        await read([span(0, 0, 0, 1)], cluster)


async def test_records_behind_the_retention_are_lost_by_name():
    cluster = brokers(orders0=Log.of(batch(5), stable=6, start=5))
    with pytest.raises(RangeLost) as raised:
        await read([span(0, 0, 2, 6)], cluster)
    assert raised.value.loss.kind is LossKind.RETENTION_PASSED
    assert (raised.value.loss.begin, raised.value.loss.end) == (2, 5)


async def test_a_log_that_was_cut_is_a_loss_and_not_a_short_range():
    cluster = brokers(orders0=Log.of(batch(0, 1), stable=2))
    with pytest.raises(RangeLost) as raised:
        await read([span(0, 0, 0, 4)], cluster)
    loss = raised.value.loss
    assert (loss.kind, loss.begin, loss.end) == (LossKind.SOURCE_TRUNCATED, 2, 4)


REGROWN = [batch(0, 1, epoch=5), batch(2, epoch=5), batch(3, epoch=6), batch(4, 5, epoch=6)]


@pytest.mark.parametrize(("begin", "end"), [(0, 5), (3, 5), (4, 5)])
async def test_a_log_that_was_cut_and_written_anew_within_a_tick_is_a_loss_at_once(begin, end):
    cluster = brokers(orders0=Log.of(*REGROWN, stable=6, epoch_end=3))
    with pytest.raises(RangeLost, match="truncated.*and written anew") as raised:
        await read([span(0, 0, begin, end, epoch=5)], cluster, patience_seconds=60)
    loss = raised.value.loss
    assert (loss.kind, loss.begin, loss.end) == (LossKind.SOURCE_TRUNCATED, 3, 5)


async def test_records_of_newer_leaders_behind_a_span_and_in_it_are_told_apart():
    cluster = brokers(orders0=Log.of(*REGROWN, stable=6, epoch_end=3))
    assert offsets(await read([span(0, 0, 1, 3, epoch=5)], cluster)) == [(0, 1), (0, 2)]
    assert len(offsets(await read([span(0, 0, 0, 6, epoch=6)], cluster))) == 6
    assert len(offsets(await read([span(0, 0, 0, 6)], cluster))) == 6, "the epoch is not known"


async def test_no_record_of_another_log_is_read_where_the_leader_does_not_tell_the_cut():
    cluster = brokers(orders0=Log.of(*REGROWN, stable=6))
    with pytest.raises(RangeLost) as raised:
        await read([span(0, 0, 1, 5, epoch=5)], cluster)
    assert (raised.value.loss.begin, raised.value.loss.end) == (1, 5)


async def test_a_log_that_has_grown_less_than_it_was_cut_is_named_from_the_cut_on():
    cluster = brokers(orders0=Log.of(*REGROWN, stable=6, epoch_end=3))
    with pytest.raises(RangeLost) as raised:
        await read([span(0, 0, 8, 9, epoch=5)], cluster)
    assert (raised.value.loss.begin, raised.value.loss.end) == (3, 9)


@pytest.mark.parametrize("end", [12, 5], ids=["within the tick", "before the tick"])
async def test_each_block_of_a_tick_finds_the_same_loss_of_a_log_that_was_cut(end):
    """So that an operator has to accept one."""
    tick = tick_of((10, 20))
    gaps = set()
    for first, last in ((0, 4), (4, 8), (8, 10)):
        with pytest.raises(RangeLost) as raised:
            await read(spans_of(tick, first, last), brokers(orders0=Log.of(stable=end)))
        gaps.add(with_gap(tick, lost_range(str(raised.value))).gaps)
    ((gap,),) = gaps
    assert (gap.loss.begin, gap.loss.end) == (max(end, 10), 20)


async def test_a_topic_that_was_made_again_or_deleted_is_a_loss():
    cluster = brokers()
    cluster.names = {"orders": UUID(int=9)}
    with pytest.raises(RangeLost, match="recreated"):
        await read([span(0, 0, 0, 4)], cluster)
    cluster.names, cluster.missing = {}, 1.0
    with pytest.raises(RangeLost, match="deleted"):
        await read([span(0, 0, 0, 4)], cluster)


@pytest.mark.parametrize("is_at_once", [False, True])
async def test_a_right_that_is_missing_is_told_at_once(is_at_once):
    cluster = brokers(orders0=Log.of(batch(0), stable=1))
    if is_at_once:
        cluster.names, cluster.is_forbidden = {}, True
    cluster.codes[ORDERS, 0] = [Code.TOPIC_AUTHORIZATION_FAILED]
    with pytest.raises(Forbidden, match="west regional"):
        await read([span(0, 0, 0, 1)], cluster, patience_seconds=60)


async def test_a_batch_that_cannot_be_read_is_a_loss_and_what_stands_before_it_is_not():
    data = bytearray(batch(1, 2))
    data[-1] ^= 0xFF
    cluster = brokers(orders0=Log.of(batch(0), bytes(data), batch(3), stable=4))
    with pytest.raises(RangeLost) as raised:
        await read([span(0, 0, 0, 4)], cluster)
    loss = raised.value.loss
    assert (loss.kind, loss.begin, loss.end) == (LossKind.SOURCE_CORRUPT, 1, 3)
    # A broken batch behind the range is none of its business.
    assert offsets(await read([span(0, 0, 0, 1)], cluster)) == [(0, 0)]


def lost(kind, begin, end, partition=0) -> LostRange:
    return LostRange("west regional", "orders", partition, Loss(kind, begin, end))


@pytest.mark.parametrize(
    ("found", "gap"),
    [
        (lost(LossKind.RETENTION_PASSED, 14, 17), (10, 17)),
        (lost(LossKind.RETENTION_PASSED, 14, 40), (10, 20)),
        (lost(LossKind.SOURCE_DELETED, 14, 16), (10, 20)),
        (lost(LossKind.SOURCE_TRUNCATED, 14, 16), (14, 20)),
        (lost(LossKind.SOURCE_TRUNCATED, 3, 16), (10, 20)),
        (lost(LossKind.SOURCE_CORRUPT, 14, None), (14, 20)),
        (lost(LossKind.SOURCE_CORRUPT, 8, 12), (10, 12)),
    ],
)
def test_a_loss_within_a_tick_is_named_as_wide_as_its_kind_allows(found, gap):
    (stop,) = with_gap(tick_of((10, 20), (0, 5)), found).gaps
    assert (stop.lane, stop.loss.begin, stop.loss.end, stop.is_accepted) == (0, *gap, False)


def test_a_loss_of_another_tick_changes_nothing():
    tick = tick_of((10, 20), (0, 5))
    assert with_gap(tick, lost(LossKind.RETENTION_PASSED, 20, 30)) == tick
    assert with_gap(tick, lost(LossKind.SOURCE_TRUNCATED, 5, 10)) == tick
    assert with_gap(tick, lost(LossKind.RETENTION_PASSED, 14, 17, partition=7)) == tick


def test_an_accepted_gap_stays_and_a_later_loss_is_named_beside_it():
    tick = with_gap(tick_of((10, 20)), lost(LossKind.RETENTION_PASSED, 10, 13))
    wider = with_gap(tick, lost(LossKind.RETENTION_PASSED, 10, 15))
    assert [each.loss.end for each in wider.gaps] == [15], "nobody accepted the first"
    accepted = replace(tick, gaps=(tick.gaps[0]._replace(is_accepted=True),))
    assert with_gap(accepted, lost(LossKind.RETENTION_PASSED, 10, 13)) == accepted
    later = with_gap(accepted, lost(LossKind.RETENTION_PASSED, 13, 15))
    assert [(each.loss.end, each.is_accepted) for each in later.gaps] == [(13, True), (15, False)]


async def test_an_accepted_gap_is_not_read_even_if_its_log_has_other_records_by_then():
    cluster = brokers(orders0=Log.of(*(batch(at) for at in range(8)), stable=8))
    gap = Stop(0, Loss(LossKind.SOURCE_TRUNCATED, 3, 6))
    spans = [span(0, 0, 2, 8)]
    assert without_gaps(spans, [gap]) == spans, "not accepted"
    left = without_gaps(spans, [gap._replace(is_accepted=True)])
    assert offsets(await read(left, cluster)) == [(0, 2), (0, 6), (0, 7)]


@given(st.integers(0, 9), st.integers(1, 9), st.integers(0, 12), st.none() | st.integers(0, 12))
def test_spans_without_a_gap_have_each_other_offset_once(begin, length, lost_begin, more):
    end = None if more is None else lost_begin + more
    spans = [span(0, 0, begin, begin + length), span(1, 1, 0, 3)]
    gap = Stop(0, Loss(LossKind.SOURCE_CORRUPT, lost_begin, end), is_accepted=True)
    found = [(it.number, at) for it in without_gaps(spans, [gap]) for at in range(it.begin, it.end)]
    lost_offsets = range(lost_begin, 99 if end is None else end)
    whole = [(it.number, at) for it in spans for at in range(it.begin, it.end)]
    assert found == [(lane, at) for lane, at in whole if lane or at not in lost_offsets]


async def test_aborted_records_are_left_out():
    aborted = bytearray(encoded([Record(1, 0, None, b"x")], producer_id=7, attributes=0x10))
    marker = encoded([Record(2, 0, struct.pack(">hh", 0, 0), b"")], producer_id=7, attributes=0x30)
    log = Log.of(batch(0), with_crc(aborted), marker, batch(3), stable=4, aborted=[(7, 1)])
    assert offsets(await read([span(0, 0, 0, 4)], brokers(orders0=log))) == [(0, 0), (0, 3)]


@pytest.mark.parametrize("kind", [kind for kind in LossKind if kind.at_source])
@pytest.mark.parametrize(("end", "detail"), [(7, ""), (None, "the broker answers 2: [a, b)")])
def test_a_loss_is_read_back_from_the_text_of_spark_s_error(kind, end, detail):
    lane = Lane("west-1 aggregate", "orders-2.v1", ORDERS, 3)
    loss = Loss(kind, 2, end, detail)
    error = RangeLost(lane, loss)
    text = f"Traceback ...\n  File x, line 1\n{type(error).__qualname__}: {error}\n\tat org.apache"
    found = lost_range(text)
    assert found == ("west-1 aggregate", "orders-2.v1", 3, loss)
    assert lost_range("RangeAway: west aggregate: Fetch: connection refused") is None


async def test_what_is_left_of_spans_is_read_once_beside_what_is_lost():
    whole = Log.of(*(batch(at) for at in range(9)), stable=9)
    deleted = Log.of(batch(6), batch(7), start=6, stable=9)
    cut = Log.of(batch(0), batch(1), stable=2)
    logs = {"orders0": whole, "orders1": deleted, "orders2": whole, "orders3": cut}
    cluster: Any = brokers(**logs, returns0=whole)
    spans = [
        span(0, 0, 1, 4),
        span(0, 0, 6, 8),
        span(1, 1, 5, 8),
        span(2, 3, 0, 5),
        span(3, 2, 0, 5),
        span(4, 0, 7, 9, topic="returns"),
    ]
    reader = RangeReader({cluster.name: cluster}, patience_seconds=0.1)
    found = [(it.lane, it.records.offset.tolist()) async for it in reader.read_left(spans)]
    assert offsets(found) == [
        *((0, at) for at in (1, 2, 3, 6, 7)),
        *((1, at) for at in (6, 7)),
        *((2, at) for at in (0, 1)),
        *((3, at) for at in range(5)),
        *((4, at) for at in (7, 8)),
    ]
