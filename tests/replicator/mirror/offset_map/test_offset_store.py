"""Maps of stored pieces; tests/live/test_offset_store.py has the store itself."""

from replicator.mirror.offset_map.offset_store import joined
from replicator.mirror.offset_map.packed_map import pack_segment
from replicator.mirror.offset_map.run_segment import Run, RunSegment
from tests.replicator.mirror.offset_map.told_logs import runs_of


def test_runs_published_after_an_accepted_loss_overrule_those_before_it():
    before = pack_segment(RunSegment(0, 100, (Run(0, 0, 100),)))
    # The target lost everything from 60 on; the operator went on at source offset 100.
    after = pack_segment(RunSegment(100, 110, (Run(100, 60, 10),)))
    assert runs_of(joined({after: 1, before: 0})) == [Run(0, 0, 60), Run(100, 60, 10)]
