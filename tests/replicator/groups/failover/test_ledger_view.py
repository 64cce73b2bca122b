"""Ledger entries as progress of their routes, joined with known runs."""

from __future__ import annotations

from dataclasses import replace
from uuid import UUID

import pytest

from balancer.topic_partition import TopicPartition
from replicator.config.topology import Route
from replicator.groups.failover.known_runs import known_of
from replicator.groups.failover.ledger_view import LedgerView, ledger_view
from replicator.groups.progress.numbering import Cut
from replicator.groups.progress.partition_in_region import Passed
from replicator.kafka.client.loss import Loss, LossKind
from replicator.mirror.ledger.entry import Custody, Entry
from replicator.mirror.ledger.ledger_reader import Entries
from replicator.mirror.offset_map.offset_map import OffsetMap
from replicator.mirror.offset_map.run_segment import Run, RunSegment
from replicator.mirror.offset_map.runs_topic import RunsKey
from tests.replicator.mirror.ledger.held import held
from tests.replicator.mirror.offset_map.told_logs import learned

# -- A ledger entry gives the progress of its route, whatever became of it.

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


# -- Ledger and runs are joined; tests/live/test_survey.py reads them from Redis.

FREE = LedgerView(Passed(10, 20), unwritten_up_to=80)


def landed(begin: int, run: Run) -> OffsetMap:
    return learned([RunSegment(begin, run.source_end, (run,))])


def test_a_free_partition_has_not_been_written_to_unless_a_run_is_beyond_its_entry():
    assert known_of(FREE, None, {}).passed == Passed(10, 80)
    assert known_of(FREE, None, {0: landed(0, Run(0, 10, 10))}).passed == Passed(10, 80)
    # A coordinator that was cut off answered with yesterday's entry.
    assert known_of(FREE, None, {0: landed(0, Run(0, 10, 11))}).passed == Passed(10, 20)


def test_the_source_topic_and_the_published_losses_are_kept():
    maps = {0: landed(0, Run(0, 0, 10)), 2: landed(4, Run(4, 10, 3))}
    known = known_of(LedgerView(losses=1), "id", maps)
    assert (known.losses, known.numbering.topic, known.numbering.cuts) == (2, "id", (Cut(4),))
    assert known_of(LedgerView(losses=3), "id", maps).losses == 3
