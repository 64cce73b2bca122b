"""Positions translated from one aggregate to another agree with a replay of both logs."""

from hypothesis import given, settings
from hypothesis import strategies as st

from replicator.groups.planning.crossing import Crossing, known_offsets
from replicator.groups.planning.failover_plan import Count
from replicator.groups.progress.partition_in_region import (
    Known,
    PartitionInRegion,
    Passed,
    vector_of,
)
from replicator.mirror.offset_map.offset_map import MappedOffset, OffsetMap
from replicator.mirror.offset_map.run_segment import Run, RunSegment
from tests.replicator.groups.progress import world as worlds_
from tests.replicator.groups.progress.world import (
    Record,
    Regions,
    World,
    aggregates,
    exact_vector,
    progress,
    read,
    some_regions,
    worlds,
)
from tests.replicator.mirror.offset_map.told_logs import alone, learned


def met_again(world: World, committed: int, resume: int) -> int:
    """Counts records read here that stand at or behind `resume` there, or have yet to arrive."""
    seen = read(world.here, committed)
    return len(seen - set(world.there[:resume]))


@given(st.data(), worlds(2, 4))
def test_it_agrees_with_progress_and_resume(data, world):
    here = data.draw(aggregates(world.here, list(world.sources)))
    there = data.draw(aggregates(world.there, list(world.sources)))
    committed = data.draw(st.integers(0, len(world.here)))
    vector = data.draw(st.dictionaries(st.sampled_from(list(world.sources)), st.integers(0, 25)))
    crossing = Crossing(here, there)
    unread, whole = crossing.progress(committed, vector), progress(here, committed, vector)
    assert (None in unread.values()) == (whole is None)
    if whole is None:
        assert crossing.resume(unread) is None
        return
    assert unread == whole
    found, expected = crossing.resume(unread), there.resume(vector_of(whole))
    assert (found and found.offset) == (expected and expected.offset)
    assert bool(found) != bool(crossing.unknown_regions(unread))


@given(st.data(), worlds(2, 4), st.booleans(), st.booleans())
def test_what_is_read_again_is_counted_or_bounded(data, world, here_is_whole, there_is_whole):
    regions = list(world.sources)
    here = data.draw(aggregates(world.here, regions, is_whole=here_is_whole))
    there = data.draw(aggregates(world.there, regions, is_whole=there_is_whole))
    committed = data.draw(st.integers(0, len(world.here)))
    crossing = Crossing(here, there)
    unread = crossing.progress(committed)
    found = crossing.resume(unread)
    if found is None:
        return
    # Retention that raised the log's start, or an operator's choice, may have moved the offset.
    resume = data.draw(st.sampled_from([found.offset, min(found.offset + 1, len(world.there))]))
    again = crossing.read_again(unread, committed, resume)
    if again is None:
        return
    truth = met_again(world, committed, resume)
    assert again.records >= truth
    if again.bound == "exact":
        assert again.records == truth
    if here_is_whole and there_is_whole and read(world.here, committed) <= set(world.there):
        assert again.bound == "exact"
        assert again.records == worlds_.met_again(there, vector_of(known_offsets(unread)), resume)


@given(st.data(), worlds(2, 4), st.booleans())
def test_what_is_not_replicated_is_counted_or_bounded(data, world, is_end_known):
    regions = list(world.sources)
    here = data.draw(aggregates(world.here, regions))
    there = data.draw(aggregates(world.there, regions, is_whole=data.draw(st.booleans())))
    offsets = world.sources["west"]
    end = offsets[-1] + 1 if offsets else 0
    count = Crossing(here, there).not_replicated("west", end if is_end_known else None)
    if count is None:
        return
    truth = sum(("west", offset) not in world.there for offset in offsets)
    if count.bound == "exact":
        assert truth == count.records == 0
    elif count.bound == "at most":
        assert count.records >= truth


def on_the_way(data, regions: Regions, *, is_whole: bool, are_plain: bool) -> list[Record]:
    """Returns the records that a group's application receives while it moves between regions.

    The application reads the last region's log to the end. Records arrive everywhere before,
    between and after the group's moves.
    """
    where = data.draw(st.sampled_from(list(regions.logs)))
    held = dict.fromkeys(regions.logs, 0)
    at, vector, taken = 0, {}, []

    def read_to(end: int) -> None:
        records = regions.logs[where][at:end]
        taken.extend(each for each in records if each and each[1] >= vector.get(each[0], 0))

    for _ in range(data.draw(st.integers(1, 4))):
        held = {r: data.draw(st.integers(held[r], len(log))) for r, log in regions.logs.items()}
        begun, end = at, data.draw(st.integers(min(at, held[where]), held[where]))
        read_to(end)
        at = max(begun, end)
        if are_plain and data.draw(st.booleans()):
            vector = {}
        to = data.draw(st.sampled_from([region for region in regions.logs if region != where]))
        here, there = (
            data.draw(aggregates(regions.logs[r][: held[r]], list(regions.logs), is_whole=is_whole))
            for r in (where, to)
        )
        crossing = Crossing(here, there)
        unread = crossing.progress(at, vector)
        found = crossing.resume(unread)
        if found is None:
            continue
        assert not is_whole or {each.basis for each in known_offsets(unread).values()} == {"exact"}
        where, at, vector = to, found.offset, vector_of(known_offsets(unread))
    read_to(len(regions.logs[where]))
    return taken


@settings(max_examples=2 * settings.default.max_examples)
@given(st.data(), some_regions())
def test_a_group_that_moves_on_and_back_with_its_vector_is_given_every_record_exactly_once(
    data, regions
):
    taken = on_the_way(data, regions, is_whole=True, are_plain=False)
    assert sorted(taken) == sorted(regions.records)


@settings(max_examples=2 * settings.default.max_examples)
@given(st.data(), some_regions(), st.booleans(), st.booleans())
def test_a_group_that_moves_on_and_back_is_never_kept_from_a_record_whatever_is_known(
    data, regions, is_whole, are_plain
):
    taken = on_the_way(data, regions, is_whole=is_whole, are_plain=are_plain)
    assert set(taken) == regions.records


@given(st.data(), worlds(2, 4))
def test_a_vector_moves_no_answer_past_what_was_read_and_is_exact_only_where_that_is(data, world):
    regions = list(world.sources)
    committed = data.draw(st.integers(0, len(world.here)))
    before = {region: data.draw(st.integers(0, 25)) for region in regions}
    by_position = exact_vector(world, committed)
    for is_whole in (True, False):
        here = data.draw(aggregates(world.here, regions, is_whole=is_whole))
        for region, answer in (progress(here, committed, before) or {}).items():
            truth = max(by_position[region], before[region])
            between = [o for o in world.sources[region] if truth <= o < answer.offset]
            assert not between or answer.offset == truth
            assert before[region] <= answer.offset
            if answer.basis == "exact":
                mirrored = {offset for each, offset in filter(None, world.here) if each == region}
                assert not {o for o in mirrored if answer.offset <= o < truth}


def landed(*runs: Run) -> OffsetMap:
    return learned([RunSegment(0, runs[-1].source_end, runs)])


def test_a_region_without_a_route_to_here_is_read_from_its_first_record_on():
    here = PartitionInRegion({"west": Known(landed(Run(0, 0, 10)), Passed(10, 10))}, 10)
    west, north = Known(landed(Run(0, 5, 10))), Known(landed(Run(0, 2, 3)))
    crossing = Crossing(here, PartitionInRegion({"west": west, "north": north}, 15))
    unread = crossing.progress(10)
    assert vector_of(known_offsets(unread)) == {"west": 10, "north": 0}
    found = crossing.resume(unread)
    assert found is not None
    assert found.offset == 2
    assert crossing.read_again(unread, 10, 2) == Count(10)


def test_a_region_without_a_route_to_there_holds_nothing_up():
    here = PartitionInRegion(
        {"west": Known(landed(Run(0, 0, 10))), "north": Known(OffsetMap())}, log_end=10
    )
    crossing = Crossing(here, PartitionInRegion({"west": Known(landed(Run(0, 5, 10)))}, 15))
    unread = crossing.progress(4)
    found = crossing.resume(unread)
    assert found is not None
    assert found.offset == 9
    assert crossing.not_replicated("north", None) is None


def test_records_that_a_dead_region_had_and_the_target_has_not_are_counted_by_its_copies():
    here = PartitionInRegion({"west": Known(landed(Run(0, 0, 10), Run(15, 10, 5)))}, log_end=15)
    there = PartitionInRegion({"west": Known(landed(Run(0, 0, 8)), Passed(8, 8))}, log_end=8)
    assert Crossing(here, there).not_replicated("west", None) == Count(7, "at least")
    assert Crossing(here, there).not_replicated("west", 20) == Count(12, "at most")
    assert Crossing(here, there).not_replicated("west", 8) == Count(0)


def test_unread_offsets_that_retention_took_are_counted_in_source_offsets():
    runs = landed(Run(0, 0, 10))
    runs.trim(7)
    there = PartitionInRegion({"west": Known(runs, Passed(10, 10))}, log_end=10)
    crossing = Crossing(PartitionInRegion({}), there)
    assert crossing.retention_took({"west": 4}) == 3
    assert crossing.retention_took({"west": 7}) == 0


def test_where_a_region_begins_is_not_known_all_its_offsets_may_be_read_again():
    late = learned([alone(Run(5, 10, 10))])
    here = PartitionInRegion(
        {"west": Known(landed(Run(0, 0, 8))), "east": Known(landed(Run(0, 8, 5)))}, 13
    )
    there = PartitionInRegion({"west": Known(late), "east": Known(landed(Run(0, 0, 5)))}, 20)
    crossing = Crossing(here, there)
    unread = crossing.progress(11)
    assert crossing.resume(unread) == (3, "exact")
    assert crossing.read_again(unread, 11, 3) == Count(8, "at most")


def test_what_was_read_beyond_a_floor_may_be_read_again():
    known = learned([RunSegment(0, 4, (Run(0, 0, 4),))])
    crossing = Crossing(
        PartitionInRegion({"west": Known(known)}),
        PartitionInRegion({"west": Known(landed(Run(0, 0, 20)))}, 20),
    )
    unread = crossing.progress(9)
    assert unread == {"west": (4, "floor")}
    assert crossing.read_again(unread, 9, 4) == Count(5, "at most")
    assert crossing.read_again(unread, 9, 2) == Count(7, "at most")


# Worked examples of the multi-region design that this one follows (Uber, "Disaster Recovery for
# Multi-Region Kafka"). Letters are regions; A1 is the first record of region A, at source offset 0.
FIGURE_4 = {"A": "A1 A2 B1 B2", "B": "B1 B2 A1 A2"}
FIGURE_6 = {"A": "A1 A2 B1 B2 A3 A4 B3 B4", "B": "B1 B2 A1 A2 B3 B4 A3 A4"}


def of_figure(log: str) -> list[Record]:
    return [(name[0], int(name[1:]) - 1) for name in log.split()]


def mirrored(log: str) -> PartitionInRegion:
    """Returns an aggregate of which runs and ledger tell everything."""
    records = of_figure(log)
    known = {}
    for region in ("A", "B"):
        runs = [
            Run(source, target, 1) for target, (it, source) in enumerate(records) if it == region
        ]
        segment = RunSegment(0, len(runs), tuple(runs))
        known[region] = Known(learned([segment]), Passed(len(runs), len(records)))
    return PartitionInRegion(known, len(records))


def checkpointed(**places: tuple[int, int]) -> PartitionInRegion:
    """Returns an aggregate of which one record of each region is known: its source offset, and its
    offset here."""
    return PartitionInRegion(
        {region: Known(learned([alone(Run(*at, 1))])) for region, at in places.items()}
    )


def test_figure_4_two_aggregates_hold_the_same_records_at_other_offsets():
    a, b = mirrored(FIGURE_4["A"]), mirrored(FIGURE_4["B"])
    checkpoints = {
        ("A", "A2"): a.known["A"].runs.target_floor(1),
        ("A", "B2"): a.known["B"].runs.target_floor(1),
        ("B", "A2"): b.known["A"].runs.target_floor(1),
        ("B", "B2"): b.known["B"].runs.target_floor(1),
    }
    offsets = {at: found.offset for at, found in checkpoints.items() if found}
    assert offsets == {("A", "A2"): 1, ("A", "B2"): 3, ("B", "A2"): 3, ("B", "B2"): 1}
    assert {found.basis for found in checkpoints.values() if found} == {"exact"}


def test_figure_4_a_group_between_both_regions_records_reads_all_of_the_later_one():
    # At offset 2 of B's aggregate it has read B1 and B2, which stand behind A1 and A2 in A's.
    crossing = Crossing(mirrored(FIGURE_4["B"]), mirrored(FIGURE_4["A"]))
    unread = crossing.progress(2)
    assert vector_of(known_offsets(unread)) == {"A": 0, "B": 2}
    found = crossing.resume(unread)
    assert found == MappedOffset(0, "exact")
    assert crossing.read_again(unread, 2, found.offset) == Count(2)


def test_figure_6_checkpoints_alone_give_no_lower_offset_than_the_documents_and_skip_nothing():
    here, there = checkpointed(A=(1, 3), B=(3, 5)), checkpointed(A=(1, 1), B=(3, 7))
    # A2 at 3 and B4 at 5 are the latest checkpoints before offset 6; in A's aggregate they are at 1
    # and 7. The document resumes at the lower one, A2 itself; a group that has read A2 resumes
    # behind it.
    by_checkpoint = min(
        found.offset
        for region, source in (("A", 1), ("B", 3))
        if (found := there.known[region].runs.target_floor(source))
    )
    assert by_checkpoint == 1
    crossing = Crossing(here, there)
    found = crossing.resume(crossing.progress(6))
    assert found == MappedOffset(2, "floor")
    first_unread = of_figure(FIGURE_6["A"]).index(("A", 2))
    assert by_checkpoint < found.offset <= first_unread


def test_figure_6_runs_give_the_first_unread_record_and_count_what_is_read_again():
    here, there = mirrored(FIGURE_6["B"]), mirrored(FIGURE_6["A"])
    assert of_figure(FIGURE_6["B"])[6] == ("A", 2)
    crossing = Crossing(here, there)
    unread = crossing.progress(6)
    assert vector_of(known_offsets(unread)) == {"A": 2, "B": 4}
    found = crossing.resume(unread)
    assert found == MappedOffset(4, "exact")
    # B3 and B4 stand behind A3 there. From the document's offset 1 on it were A2, B1 and B2 too.
    assert crossing.read_again(unread, 6, found.offset) == Count(2)
    assert crossing.read_again(unread, 6, 1) == Count(5)


def test_figure_6_the_way_back_ends_where_it_began():
    here, there = mirrored(FIGURE_6["B"]), mirrored(FIGURE_6["A"])
    vector = vector_of(known_offsets(Crossing(here, there).progress(6)))
    back = Crossing(there, here)
    assert back.resume(back.progress(4, vector)) == MappedOffset(6, "exact")
