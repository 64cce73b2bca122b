"""Lag in seconds: the end of a carrier does not reset it, and open transactions show in it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import suppress

import pytest
from confluent_kafka import Producer

from deploy.lab.dump import dump
from replicator.mirror.driver.metrics import TotalsCollector, totals_into
from replicator.mirror.offset_map.carrier_reports import CarrierReports
from replicator.mirror.offset_map.reports import PartitionReport
from tests.live.hand import Gate, Hand
from tests.live.stage import Stage

YEAR_2013_MS = 1_357_000_000_000
BEHIND_SECONDS = 2.0
INTERVAL_SECONDS = 1.2
"""Largest error of a reported lag: log ends are read once a second and reported a little later."""


class Reports:
    """Reports in Redis about the stage's partition."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        region = stage.carrying.appliance.region(stage.route.target)
        self._store = CarrierReports(region.redis_url())

    def of(self, hand: Hand, is_wanted: Callable[[PartitionReport], bool]) -> PartitionReport:
        """Returns the first report of a carrier that satisfies the condition."""
        found: list[PartitionReport] = []

        def is_there() -> bool:
            told = self._store.reports([self._stage.route.key])[0].values()
            found.extend(
                r for r in told if r.carrier == hand.receipts.log_fields[1] and is_wanted(r)
            )
            return bool(found)

        hand.until(is_there)
        return found[0]


@pytest.fixture
def held_back() -> Iterator[Callable[[Hand], Gate]]:
    """`held_back(hand)`: the carrier acquires its partition, then waits for its gate."""
    gates = []

    def hold(hand: Hand) -> Gate:
        # After an acquisition a carrier commits before it sends the first batch.
        gates.append(Gate(hand.target, "AddOffsetsToTxn", lambda _: bool(hand.pipelines)))
        return gates[-1]

    yield hold
    for gate in gates:
        gate.open()


@pytest.mark.parametrize(
    "first_timestamp_ms", [pytest.param(None, marks=pytest.mark.core), YEAR_2013_MS]
)
@pytest.mark.parametrize("is_killed", [False, True])
def test_lag_goes_on_where_the_carrier_before_left_it(
    make_stage, held_back, is_killed, first_timestamp_ms
):
    stage = make_stage()
    reports = Reports(stage)
    first = stage.hand(0).start()
    first.until(lambda: stage.place in first.pipelines)
    stage.send(100)
    first.until_carried(stage.place)
    reports.of(first, lambda report: report.lag_seconds == 0)
    first.finish()
    looked_at = time.time()

    behind = stage.hand(1)
    gate = held_back(behind)
    behind.start()
    behind.until(lambda: stage.place in behind.pipelines)
    sending_at = time.time()
    stage.send(1000, first_timestamp_ms=first_timestamp_ms)
    sent_at = time.time()
    reports.of(behind, lambda report: (report.lag_seconds or 0) > BEHIND_SECONDS)
    if is_killed:
        behind.kill()
        gate.open()
    else:
        behind.end()
        behind.until(lambda: behind.pipelines[stage.place].is_settling)
        gate.open()
        assert behind.failure() is None

    after = stage.hand(2)
    held_back(after)
    after.start()
    found = reports.of(after, lambda report: bool(report.lag_records))
    assert found.lag_records == 1000
    seconds = found.lag_seconds or 0.0
    assert seconds >= found.at - sent_at - INTERVAL_SECONDS, "the clock began anew"
    is_bounded_by = looked_at if is_killed and first_timestamp_ms else sending_at
    assert seconds <= found.at - is_bounded_by + INTERVAL_SECONDS, "more than anybody saw"


def test_counters_go_on_over_epochs_and_restarts_and_count_every_record_once(make_stage):
    stage = make_stage()
    carrying = stage.carrying
    collector = TotalsCollector(totals_into(carrying.appliance, stage.route.target))
    collector.begin()

    def counted(name: str) -> float:
        families = {family.name: family for family in collector.collect()}
        family, _, ending = name.partition("/")
        samples = families[family].samples
        return sum(s.value for s in samples if s.name == f"{family}_{ending}")

    carrying.begin()
    stage.send(300)
    carrying.until(lambda: counted("sluice_records/total") == 300)
    carrying.next_plan()
    stage.send(200)
    carrying.until_carried()
    carrying.fence(0)
    stage.send(100)
    carrying.until(lambda: counted("sluice_restarts/total") >= 1)
    carrying.until_carried()
    carrying.stop()
    assert counted("sluice_records/total") == 600
    assert counted("sluice_latency_seconds/count") == 600
    assert counted("sluice_losses/total") == 0
    received = dump(stage.target, stage.topic)[0]
    assert counted("sluice_bytes/total") > 0 and len(received.offsets) == 600


def test_an_open_transaction_is_named_while_it_lasts_and_lag_counts_what_it_holds_up(
    make_stage, caplog
):
    stage = make_stage(open_transaction_seconds=1.0)
    reports = Reports(stage)
    transactional_id = f"hanging-{time.time_ns():x}"
    producer = Producer({**stage.source.librdkafka_options(), "transactional.id": transactional_id})
    producer.init_transactions(30)
    producer.begin_transaction()
    producer.produce(stage.topic, b"never committed", partition=0)
    producer.flush(30)
    hand = stage.hand(0).start()
    hand.until(lambda: stage.place in hand.pipelines)
    stage.send(10)

    def told(event: str) -> list[str]:
        return [text for text in caplog.messages if text.startswith(f"event={event} ")]

    hand.until(lambda: bool(told("source-transaction-open")))
    (said,) = told("source-transaction-open")
    assert f"{stage.topic}-0" in said and "offset 0" in said
    assert transactional_id in said and "Ongoing" in said and "producer id" in said
    found = reports.of(hand, lambda report: (report.written_lag_seconds or 0) > 2)
    assert (found.lag_records, found.lag_seconds) == (0, 0.0)
    assert (found.source_end, found.source_high, found.written_lag_records) == (0, 11, 11)
    assert (found.open_transaction_seconds or 0) > 2

    producer.abort_transaction(30)
    hand.until(lambda: bool(told("source-transaction-ended")))
    hand.until_carried(stage.place)
    reports.of(hand, lambda report: report.written_lag_seconds == 0)
    assert len(told("source-transaction-open")) == 1
    with suppress(Exception):
        producer.flush(1)
