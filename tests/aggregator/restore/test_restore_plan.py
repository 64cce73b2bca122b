"""Restore plan: each record of the range is in an object that is chosen, or the job is refused."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aggregator.objects.forgotten import Forgotten, Log
from aggregator.restore.restore_plan import (
    CannotRestore,
    Doubt,
    PartitionPlan,
    named,
    plan_partitions,
)
from aggregator.restore.restore_range import OffsetRange, RestoreRange
from tests.aggregator.restore.told import told

END = 40


@st.composite
def layouts(draw):
    """Draws which folder each offset is in (None: a hole), and after how many records objects
    end."""
    folders = draw(st.lists(st.sampled_from([None, "a", "b", "c"]), min_size=1, max_size=END))
    return folders, draw(st.integers(1, 6))


def objects_of(folders, size):
    """Returns the objects that a feed makes of these records, with the offsets in each."""
    found = {}
    for folder in {each for each in folders if each}:
        offsets = [at for at, each in enumerate(folders) if each == folder]
        for first in range(0, len(offsets), size):
            some = offsets[first : first + size]
            each = told(some[0], some[-1] + 1, folder=folder, records=len(some))
            found[each] = some
    return found


@given(layouts(), st.integers(0, END), st.none() | st.integers(0, END), st.integers(0, END))
def test_the_objects_chosen_hold_each_record_of_the_range_and_all_are_told(
    layout, begin, end, passed
):
    """Objects that end behind the committed offset are not all told; below it each record is."""
    found = objects_of(*layout)
    known = {each: some for each, some in found.items() if each.begin < passed}
    offsets = OffsetRange(begin, end)
    wanted = RestoreRange(offsets={0: offsets})
    if end is not None and end > passed:
        with pytest.raises(CannotRestore, match=f"up to {passed}, not up to {end}"):
            plan_partitions(known, wanted, {0: passed}, 1)
        return
    (plan,) = plan_partitions(known, wanted, {0: passed}, 1)
    assert (plan.begin, plan.end) == (begin, max(begin, passed if end is None else end))
    held = {at for each in plan.objects for at in found[each]}
    assert held >= {at for some in found.values() for at in some if plan.begin <= at < plan.end}
    assert all(each.begin < plan.end and each.end > begin for each in plan.objects)
    assert list(plan.objects) == sorted(plan.objects, key=lambda each: (each.begin, each.key))


def test_a_feed_without_a_committed_offset_restores_all_that_is_told():
    plans = plan_partitions(
        [told(0, 5), told(5, 9), told(3, 4, partition=2)], RestoreRange(), {}, 4
    )
    assert [(plan.partition, plan.end, plan.records) for plan in plans] == [
        (0, 9, 9),
        (1, 0, 0),
        (2, 4, 1),
        (3, 0, 0),
    ]
    assert plans[0].size_bytes == 2000
    assert [each.begin for each in plans[0].left(5)] == [5]


def test_only_the_named_partitions_are_restored():
    wanted = RestoreRange(offsets={2: OffsetRange()})
    assert [plan.partition for plan in plan_partitions([told(0, 5)], wanted, {}, 4)] == [2]
    with pytest.raises(CannotRestore, match="no partition 2: the topic has 2"):
        plan_partitions([told(0, 5)], wanted, {}, 2)


@pytest.mark.parametrize(
    "other", [told(0, 5, key="topics/t/t+0+0000000000.json.gz"), told(0, 5, schema="7")]
)
def test_objects_without_the_bytes_of_records_are_refused_by_name(other):
    with pytest.raises(CannotRestore, match="only Parquet with key, value and headers") as refused:
        plan_partitions([other, told(5, 9)], RestoreRange(), {}, 1)
    assert other.key in str(refused.value)
    later = RestoreRange(offsets={0: OffsetRange(5)})
    (plan,) = plan_partitions([other, told(5, 9)], later, {}, 1)
    assert len(plan.objects) == 1


def test_two_logs_under_one_name_are_refused_and_can_be_chosen_from_by_time():
    """The topic was deleted, and created again: offsets begin anew."""
    old, new = told(100, 200, first_ms=1, last_ms=2), told(150, 160, first_ms=5, last_ms=6)
    with pytest.raises(CannotRestore, match="hold the same offsets: the topic was created again"):
        plan_partitions([old, new], RestoreRange(), {}, 1)
    (plan,) = plan_partitions([old, new], RestoreRange(since_ms=4), {}, 1)
    assert plan.objects == (new,)


def test_of_many_objects_the_first_are_named():
    assert named(["a", "b"]) == "a, b"
    assert named(list("abcdefg")) == "a, b, c, d, e and 2 more"


def test_a_plan_without_objects_holds_nothing():
    assert PartitionPlan(0, 0, 0, ()).records == 0


def test_objects_of_several_logs_are_refused_until_one_is_chosen():
    """Also where their offsets do not overlap: the later log goes on behind the former one."""
    objects = [told(0, 10), told(10, 20, incarnation=5)]
    with pytest.raises(CannotRestore, match=r"0 \(up to offset 10\), 5 \(up to offset 20\)"):
        plan_partitions(objects, RestoreRange(), {}, 1)
    (plan,) = plan_partitions(objects[1:], RestoreRange(), {}, 1)
    assert plan.objects == (objects[1],)


@given(layouts(), st.integers(0, END), st.integers(0, END))
def test_without_a_committed_offset_each_offset_that_no_object_holds_is_named(layout, begin, lost):
    found = [each for each in objects_of(*layout) if each.begin % (lost + 1)]
    (plan,) = plan_partitions(found, RestoreRange(offsets={0: OffsetRange(begin)}), {}, 1)
    held = {at for each in found for at in range(each.begin, each.end)}
    missing = {at for at in range(plan.begin, plan.end) if at not in held}
    gaps = plan.doubt.gaps if plan.doubt else ()
    assert {at for first, end in gaps for at in range(first, end)} == missing
    assert plan.doubt or len({each.key.rpartition("/")[0] for each in found}) < 2
    (known,) = plan_partitions(found, RestoreRange(), {0: plan.end}, 1)
    assert known.doubt is None


def test_a_job_that_has_begun_stays_in_doubt_until_the_committed_offset_is_known():
    found = [told(0, 5), told(7, 9)]
    (plan,) = plan_partitions(found, RestoreRange(), {}, 1, begun={0: 9})
    assert plan.doubt == Doubt(0, 9, ((5, 7),))
    assert str(plan.doubt).endswith("all of the offsets 0 to 8: none holds 5 to 6")
    (plan,) = plan_partitions(found, RestoreRange(), {0: 20}, 1, begun={0: 9})
    assert (plan.end, plan.doubt) == (9, None)


def test_the_last_objects_of_other_folders_may_be_missing_without_a_gap():
    found = [told(0, 9, records=5), told(1, 8, folder="hour=2", records=4)]
    (plan,) = plan_partitions(found, RestoreRange(), {}, 1)
    assert plan.doubt == Doubt(0, 9, ())
    assert "those of some folders may be missing" in str(plan.doubt)
    (plan,) = plan_partitions(found[:1], RestoreRange(), {}, 1)
    assert plan.doubt is None


@given(layouts(), st.sets(st.integers(0, END)), st.integers(0, END), st.integers(0, END))
def test_each_record_of_the_range_is_in_a_chosen_object_or_in_a_range_that_is_named(
    layout, dropped, begin, end
):
    found = objects_of(*layout)
    gone = [each for at, each in enumerate(found) if at in dropped]
    kept = {each: some for each, some in found.items() if each not in gone}
    forgotten = [Forgotten(Log("east aggregate", "t", 0)).with_objects(gone, 1)]
    wanted = RestoreRange(offsets={0: OffsetRange(begin, end)})
    (plan,) = plan_partitions(kept, wanted, {0: END}, 1, None, forgotten)
    held = {at for each in plan.objects for at in kept[each]}
    named = {at for each in plan.forgotten for at in range(each.begin, each.end)}
    for each, some in found.items():
        own = {at for at in some if begin <= at < end}
        assert own <= (named if each in gone else held)
    if not any(each.begin < end and each.end > begin for each in gone):
        assert not plan.forgotten


def test_forgotten_objects_of_other_times_partitions_and_without_records_are_not_named():
    log = Log("east aggregate", "t", 0)
    gone = [told(0, 10, first_ms=100, last_ms=200), told(20, 30, left_out=10)]
    forgotten = [Forgotten(log).with_objects(gone, 1)]
    objects = [told(10, 20, first_ms=300, last_ms=400)]

    def named_with(**wanted):
        plans = plan_partitions(objects, RestoreRange(**wanted), {0: 30}, 2, None, forgotten)
        return [len(plan.forgotten) for plan in plans]

    assert named_with() == [1, 0]
    assert named_with(since_ms=200) == [1, 0]
    assert named_with(since_ms=201) == [0, 0]
    assert named_with(offsets={0: OffsetRange(10, 30)}) == [0]


def test_without_a_committed_offset_a_forgotten_range_counts_as_one_that_was_in_objects():
    forgotten = [Forgotten(Log("east aggregate", "t", 0)).with_objects([told(10, 20)], 1)]
    (plan,) = plan_partitions([told(0, 10)], RestoreRange(), {}, 1, None, forgotten)
    assert (plan.end, len(plan.forgotten)) == (20, 1)
    assert plan.doubt == Doubt(0, 20, ((10, 20),))
