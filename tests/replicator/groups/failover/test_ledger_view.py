"""A ledger entry gives the progress of its route, whatever became of it."""

from __future__ import annotations

from dataclasses import replace
from uuid import UUID

import pytest

from balancer.topic_partition import TopicPartition
from replicator.config.topology import Route
from replicator.groups.failover.ledger_view import LedgerView, ledger_view
from replicator.groups.progress.partition_in_region import Passed
from replicator.kafka.client.loss import Loss, LossKind
from replicator.mirror.ledger.entry import Custody, Entry
from replicator.mirror.ledger.ledger_reader import Entries
from replicator.mirror.offset_map.runs_topic import RunsKey
from tests.replicator.mirror.ledger.held import held

ROUTE = Route("west", "east")
PARTITION = TopicPartition("trades", 2)
SOURCE, TARGET = UUID(int=1), UUID(int=2)
KEY = RunsKey("trades", 2, SOURCE.hex, TARGET.hex)
ENTRY = held(
    source_offset=30,
    target_offset=50,
    transactional_id="x",
    source_topic=SOURCE,
    target_topic=TARGET,
)


def of(entry: Entry | None, *, is_current=True, target_topic=TARGET.hex, **more) -> LedgerView:
    entries = Entries(**({"read": {PARTITION: entry}} if entry else {}), **more)
    return ledger_view(
        ROUTE,
        PARTITION,
        entries,
        untouched_up_to=80,
        target_topic=target_topic,
        is_current=is_current,
    )


def test_an_entry_gives_its_routes_progress_and_the_key_of_its_runs():
    assert of(ENTRY) == LedgerView(Passed(30, 50), KEY)
    assert of(replace(ENTRY, losses=2)) == LedgerView(Passed(30, 50), KEY, losses=2)
    assert of(ENTRY, target_topic=None) == LedgerView(Passed(30, 50), KEY)


@pytest.mark.parametrize(
    ("custody", "is_current", "up_to"),
    [
        (Custody.VIRGIN, True, 80),
        (Custody.VIRGIN, False, 80),
        (Custody.RELEASED, True, 50),
        (Custody.HELD, True, 50),
    ],
)
def test_a_virgin_partition_has_no_records_of_its_route_below_the_log_end(
    custody, is_current, up_to
):
    found = of(replace(ENTRY, custody=custody), is_current=is_current)
    assert found.passed == Passed(30, up_to)


def test_a_released_entry_from_the_target_itself_gives_an_unwritten_range():
    released = replace(ENTRY, custody=Custody.RELEASED)
    assert of(released).unwritten_up_to == 80
    assert of(released, is_current=False).unwritten_up_to is None
    assert of(ENTRY).unwritten_up_to is None
    cut = released.park(Loss(LossKind.SOURCE_TRUNCATED, 20, 30))
    assert (of(cut).unwritten_up_to, of(cut).cut_at) == (None, 20)


def test_a_virgin_entry_knows_no_source_topic_and_has_no_runs():
    entry = replace(ENTRY, custody=Custody.VIRGIN, source_offset=0, source_topic=None)
    assert of(entry) == LedgerView(Passed(0, 80))


def test_a_parked_entry_is_noted_and_counts_unless_the_target_lost_its_records():
    parked = of(ENTRY.park(Loss(LossKind.RETENTION_PASSED, 30, 40)))
    assert (parked.passed, parked.key) == (Passed(30, 50), KEY)
    assert "west>east is parked: source retention" in parked.note
    lost = of(ENTRY.park(Loss(LossKind.TARGET_TRUNCATED, 30, 40)))
    assert (lost.passed, lost.key, lost.is_void) == (None, None, True)
    assert "target lost" in lost.note
    released = ENTRY.park(Loss(LossKind.SOURCE_CORRUPT, 30, 31))
    assert of(replace(released, custody=Custody.RELEASED)).passed == Passed(30, 50)


def test_an_entry_of_another_target_topic_does_not_count():
    found = of(ENTRY, target_topic="another")
    assert (found.passed, found.key) == (None, None)
    assert "trades was recreated in east" in found.note


def test_without_an_entry_the_witness_decides_whether_there_ever_was_one():
    assert of(None, adopted={"trades": 2}) == LedgerView(Passed(0, 80))
    assert of(None, adopted={"trades": 0}) == LedgerView(Passed(0, 80), is_mirrored=False)
    gone = of(None, adopted={"trades": 3})
    assert (gone.passed, gone.note) == (None, "west>east: its ledger entry is gone")
    assert "nothing is known" in of(None).note
    broken = of(None, unreadable={PARTITION: "cannot be read"})
    assert (broken.passed, broken.note) == (None, "west>east: cannot be read")
