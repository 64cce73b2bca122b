"""An entry is called old only because of runs that its own writer cannot have published."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replicator.kafka.client.loss import LossKind
from replicator.mirror.ledger.entry import Custody
from replicator.mirror.ledger.stale_entry import PublishedRun, turned_back
from replicator.mirror.offset_map.run_segment import Run
from replicator.mirror.offset_map.runs_tail import LastRun
from tests.replicator.mirror.ledger.held import held

ENTRY = held(source_offset=100, target_offset=1000, losses=2)


def published(source_end: int, *, target_end: int = 1500, losses: int = 2) -> PublishedRun:
    return PublishedRun(LastRun(source_end, target_end), losses)


def test_runs_after_the_position_show_that_the_entry_is_stale():
    loss = turned_back(ENTRY, 120, 2000, published(500))
    assert loss.kind is LossKind.LEDGER_TURNED_BACK
    assert (loss.begin, loss.end) == (120, 500)
    assert "source offsets [120, 500)" in str(loss) and "accept-loss" in str(loss)


def test_runs_published_under_more_losses_show_a_stale_entry_wherever_they_end():
    assert turned_back(ENTRY, 120, 2000, published(110, losses=3)).end == 120
    assert turned_back(ENTRY, 120, 2000, published(500, losses=3)).end == 500


@pytest.mark.parametrize(
    "run",
    [
        None,
        published(120),
        published(90),
        published(500, losses=1),
        published(500, target_end=2001),
    ],
    ids=["none", "at the position", "before it", "overruled", "lost by the target"],
)
def test_an_entry_that_no_run_contradicts_is_not_stale(run):
    assert turned_back(ENTRY, 120, 2000, run) is None


def test_a_virgin_entry_is_never_stale():
    virgin = held(custody=Custody.VIRGIN, source_offset=0)
    assert turned_back(virgin, 0, 2000, published(500, losses=0)) is None


@given(st.integers(0, 50), st.integers(0, 50))
def test_runs_of_the_entrys_own_producer_never_make_it_stale(landed, published_records):
    """All published records had landed, and the position lies after all that landed."""
    run = published(100 + min(landed, published_records))
    assert turned_back(ENTRY, 100 + landed, 2000, run) is None


def test_a_run_that_joins_other_offsets_than_the_tail_shows_an_entry_without_a_gap():
    """The writer went over offsets 102 to 104 after this entry: its 5 records end at 108."""
    tail = [Run(100, 1000, 5)]
    assert turned_back(ENTRY, 105, 2000, published(107, target_end=1004), tail) is not None
    loss = turned_back(ENTRY, 108, 2000, published(107, target_end=1004), tail)
    assert (loss.begin, loss.end) == (108, 108)  # 107, and the record behind it


def test_offsets_left_out_behind_the_last_run_show_an_entry_that_goes_on_with_them():
    """The writer went over offset 104 behind its fourth record: the fifth one is 105."""
    tail = [Run(100, 1000, 5)]
    of_four = LastRun(104, 1004, left_out=1)
    loss = turned_back(ENTRY, 105, 2000, PublishedRun(of_four, 2), tail)
    assert (loss.begin, loss.end) == (105, 106)
    # Nothing landed behind the run: this entry goes on at the offsets that were left out.
    assert turned_back(ENTRY, 104, 2000, PublishedRun(of_four, 2), tail=[Run(100, 1000, 4)]) is None
    knowing = [Run(100, 1000, 4), Run(105, 1004, 1)]
    assert turned_back(ENTRY, 106, 2000, PublishedRun(of_four, 2), knowing) is None


def test_offsets_left_out_behind_the_last_run_are_read_again_where_nothing_landed_behind_it():
    last = LastRun(500, 1500, left_out=5)
    assert turned_back(ENTRY, 120, 2000, PublishedRun(last, 2)).end == 500


def test_offsets_left_out_before_the_entry_may_have_records_for_its_writer():
    """An earlier carrier found none in a replica that was compacted, and died before its entry."""
    earlier = LastRun(100, 1000, left_out=5)
    assert turned_back(ENTRY, 105, 2000, PublishedRun(earlier, 2), [Run(100, 1000, 5)]) is None


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(1, 4)), max_size=6), st.integers(0, 24))
def test_runs_of_the_tail_itself_never_make_an_entry_stale(spans, published_records):
    """Spans of a tail: offsets that the source leaves out, then records."""
    tail, source, target = [], ENTRY.source_offset, ENTRY.target_offset
    for left_out, records in spans:
        source += left_out
        tail.append(Run(source, target, records))
        source, target = source + records, target + records
    ends = [
        (run.source_offset + n, run.target_offset + n)
        for run in tail
        for n in range(1, run.records + 1)
    ]
    begins = [each.source_offset for each in tail]
    for source_end, target_end in ends[:published_records]:
        behind = min((each for each in begins if each >= source_end), default=source_end)
        is_inside = any(it.source_offset < source_end < it.source_end for it in tail)
        last = LastRun(source_end, target_end, 0 if is_inside else behind - source_end)
        assert turned_back(ENTRY, source, 2000, PublishedRun(last, 2), tail) is None
