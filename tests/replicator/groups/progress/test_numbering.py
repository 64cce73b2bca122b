"""Source log that was cut and gave its offsets to other records, in one aggregate or in both."""

from __future__ import annotations

from typing import NamedTuple

from hypothesis import given, settings
from hypothesis import strategies as st

from replicator.groups.planning.crossing import Crossing
from replicator.groups.progress.numbering import PLAIN, UNKNOWN, Cut, Numbering, numbering
from replicator.groups.progress.partition_in_region import Known, PartitionInRegion, Passed
from replicator.mirror.offset_map.offset_map import OffsetMap
from replicator.mirror.offset_map.packed_map import Edge
from replicator.mirror.offset_map.run_segment import Run, RunBuffer, RunSegment
from tests.replicator.mirror.offset_map.told_logs import learn, learned

CUT = 4


class Record(NamedTuple):
    """Record of a region; era is 1 once the source was cut."""

    region: str
    offset: int
    era: int = 0


@st.composite
def logs(draw) -> tuple[list[Record], bool]:
    """Draws a log, and whether its route met the cut: records beyond the cut had been mirrored.

    West's records from before the cut come before those from after it, with east's in between.
    """
    old = [Record("west", at) for at in range(draw(st.integers(0, 8)))]
    is_told = draw(st.booleans()) and len(old) >= CUT
    new = [Record("west", CUT + at, 1) for at in range(draw(st.integers(1, 5)))] if is_told else []
    west, east = old + new, [Record("east", at) for at in range(draw(st.integers(0, 3)))]
    log: list[Record] = []
    while west or east:
        log.append(draw(st.sampled_from([rest for rest in (west, east) if rest])).pop(0))
    return log, len(old) > CUT


def aggregate(log: list[Record], is_met: bool) -> PartitionInRegion:
    known = {}
    for region in ("west", "east"):
        maps: dict[int, OffsetMap] = {}
        for era in (0, 1):
            number = era if is_met else 0
            mine = [(it.offset, at) for at, it in enumerate(log) if it[::2] == (region, era)]
            if not mine:
                continue
            buffer = RunBuffer(mine[0][0])
            for offset, at in mine:
                buffer.land(offset, at, 1)
            learn(maps.setdefault(number, OffsetMap()), *buffer.take())
        whole = OffsetMap()
        for _, newer in sorted(maps.items()):
            whole.join_newer(newer)
        is_west_met = is_met and region == "west"
        losses = max(maps, default=0)
        found = numbering(
            maps,
            whole,
            topic="id",
            losses=losses,
            parked_at=CUT if is_west_met and not losses else None,
        )
        ends = [it.offset + 1 for it in log if it.region == region]
        known[region] = Known(whole, Passed(ends[-1] if ends else 0, len(log)), losses, found)
    return PartitionInRegion(known, len(log))


@settings(max_examples=2 * settings.default.max_examples)
@given(st.data(), logs(), logs())
def test_nothing_is_skipped_where_a_source_was_cut_in_one_aggregate_or_in_both(data, here, there):
    committed = data.draw(st.integers(0, len(here[0])))
    crossing = Crossing(aggregate(*here), aggregate(*there))
    found = crossing.resume(crossing.progress(committed))
    assert found is not None
    unread = set(there[0]) - set(here[0][:committed])
    assert not unread & set(there[0][: found.offset])


def landed(begin: int, *runs: Run) -> OffsetMap:
    return learned([RunSegment(begin, runs[-1].source_end, runs)])


def numbered(*maps: OffsetMap, **more) -> Numbering:
    whole = OffsetMap()
    for each in maps:
        whole.join_newer(each)
    return numbering(dict(enumerate(maps)), whole, **more)


def test_a_position_among_old_records_is_not_taken_for_one_among_the_new():
    old = landed(0, Run(0, 0, 5000))
    maps = {0: old, 1: landed(4000, Run(4000, 5000, 800))}
    whole = OffsetMap()
    for each in maps.values():
        whole.join_newer(each)
    cut = PartitionInRegion(
        {"west": Known(whole, Passed(4800, 5800), 1, numbering(maps, whole))}, 5800
    )
    plain = PartitionInRegion({"west": Known(old, Passed(5000, 5000))}, 5000)
    there = Crossing(plain, cut)
    places = there.progress(5000)
    assert places == {"west": (4000, "floor")}
    assert there.resume(places) == (4000, "floor")
    assert there.vector(places) == {}
    back = Crossing(cut, plain)
    assert back.resume(back.progress(5800)) == (4000, "floor")


def test_a_loss_accepted_in_one_aggregate_only_counts_below_the_cut():
    cut = numbered(landed(0, Run(0, 0, 5000)), landed(4000, Run(4000, 5000, 800)))
    assert (cut.cuts, cut.former_end, cut.edges) == ((Cut(4000),), 5000, (Edge(4000, 4000),))
    assert cut.agrees_below(PLAIN) == PLAIN.agrees_below(cut) == 4000
    assert cut.agrees_below(cut) is None


def test_a_loss_that_left_records_out_is_no_cut():
    skipped = numbered(landed(0, Run(0, 0, 10)), landed(20, Run(20, 10, 5)))
    assert skipped == PLAIN


def test_another_source_topic_agrees_nowhere_and_an_unknown_one_is_not_held_against_it():
    old, new = Numbering("old"), Numbering("new")
    assert old.agrees_below(new) == 0
    assert old.agrees_below(PLAIN) is None


def test_a_recreated_topic_may_stand_behind_an_older_ones_records():
    recreated = landed(0, Run(0, 50, 5))
    assert numbering({1: recreated}, recreated).begin(0) == 0


def test_a_loss_without_published_runs_may_be_any_cut():
    accepted = numbered(landed(0, Run(0, 0, 10)), losses=1)
    assert accepted.cuts == (UNKNOWN,)
    assert accepted.agrees_below(PLAIN) == accepted.agrees_below(accepted) == 0


def test_a_cut_that_is_not_accepted_counts_too():
    assert numbered(landed(0, Run(0, 0, 10)), parked_at=4).agrees_below(PLAIN) == 4


def test_a_newer_map_that_retention_trimmed_may_have_the_same_cut():
    newer = landed(4, Run(4, 10, 8))
    newer.trim(15)
    trimmed = numbered(landed(0, Run(0, 0, 10)), newer)
    assert trimmed.cuts == (Cut(9, is_exact=False),)
    cut = Numbering(cuts=(Cut(4),))
    assert cut.agrees_below(Numbering(cuts=trimmed.cuts)) is None
    assert trimmed.agrees_below(Numbering(cuts=(Cut(10),))) == 0
