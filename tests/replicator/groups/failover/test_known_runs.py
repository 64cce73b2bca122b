"""Ledger and runs are joined; tests/live/test_survey.py reads them from Redis."""

from replicator.groups.failover.known_runs import known_of
from replicator.groups.failover.ledger_view import LedgerView
from replicator.groups.progress.numbering import Cut
from replicator.groups.progress.partition_in_region import Passed
from replicator.mirror.offset_map.offset_map import OffsetMap
from replicator.mirror.offset_map.run_segment import Run, RunSegment
from tests.replicator.mirror.offset_map.told_logs import learned

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
