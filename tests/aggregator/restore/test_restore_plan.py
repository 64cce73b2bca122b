"""Restore plans: jobs, their ranges, and the topic that they need."""

from __future__ import annotations

from dataclasses import replace
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aggregator.formats.record_slice import NO_TIME
from aggregator.objects.forgotten import Forgotten, Log
from aggregator.restore.restore_entry import claim
from aggregator.restore.restore_job import RestoreRequest, RestoreState
from aggregator.restore.restore_plan import (
    CannotRestore,
    Doubt,
    PartitionPlan,
    named,
    plan_partitions,
)
from aggregator.restore.restore_range import BadRange, OffsetRange, RestoreRange, parsed_offsets
from aggregator.restore.target_topic import batch_bytes_max, check_topic, new_topic
from replicator.config.cluster_name import ClusterName
from replicator.config.object_feed import ObjectFeed
from replicator.kafka.admin.topic import Configs, Topic
from tests.aggregator.restore.told import told
from tests.replicator.config.any_feed import ANY_OBJECT_FEED

# -- Restore plan: each record of the range is in an object that is chosen, or the job is
# refused.

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


# -- Restore job: another range is another job; the same one is found again.

EAST = ClusterName("east aggregate")
FEED = ObjectFeed(name="lake", region="east", clusters=["east aggregate"], **ANY_OBJECT_FEED)
REQUEST = RestoreRequest(
    feed=FEED,
    source=EAST,
    topic="flights",
    target=EAST,
    target_topic="again",
    wanted=RestoreRange(offsets={3: OffsetRange(5, 9), 1: OffsetRange(7)}, since_ms=1),
)


def test_a_job_is_the_same_however_its_partitions_are_named_and_another_with_any_change():
    turned = RestoreRange(offsets={1: OffsetRange(7), 3: OffsetRange(5, 9)}, since_ms=1)
    assert replace(REQUEST, wanted=turned).job == REQUEST.job
    others = [
        replace(REQUEST, topic="weather"),
        replace(REQUEST, source=ClusterName("west aggregate")),
        replace(REQUEST, feed=FEED.model_copy(update={"name": "other"})),
        replace(REQUEST, wanted=replace(turned, since_ms=2)),
        replace(REQUEST, wanted=replace(turned, until_ms=1, since_ms=None)),
        replace(REQUEST, wanted=replace(turned, offsets={1: OffsetRange(7)})),
        replace(REQUEST, incarnation=0),
        replace(REQUEST, incarnation=5),
    ]
    assert len({REQUEST.job, *(each.job for each in others)}) == 1 + len(others)


def test_a_job_is_named_for_people():
    assert REQUEST.text == ("east aggregate flights of feed lake, 1:7-, 3:5-9, 1-None ms")
    whole = replace(REQUEST, wanted=RestoreRange())
    assert whole.text == "east aggregate flights of feed lake"


def test_a_job_is_done_once_each_of_its_partitions_is():
    plans = (PartitionPlan(0, 0, 5, ()), PartitionPlan(1, 0, 0, ()))
    entries = {plan.partition: claim("job", "text", plan, 0, "id") for plan in plans}
    state = RestoreState(plans=plans, entries=entries, partitions=2, is_there=True)
    assert not state.is_done
    done = {**entries, 0: entries[0].passed(5, 3)}
    assert replace(state, entries=done).is_done


# -- Restore range: offsets as they are typed, and the objects that may hold records of a time.

TIMES = st.integers(-20, 20).filter(lambda at: at != NO_TIME)


def test_offsets_are_open_at_either_end():
    found = parsed_offsets(["3:100-200", "4:100-", "5:-200", "6:-"])
    assert found == {
        3: OffsetRange(100, 200),
        4: OffsetRange(100),
        5: OffsetRange(0, 200),
        6: OffsetRange(),
    }
    wanted = RestoreRange(offsets=found)
    assert (wanted.of(4), wanted.of(7)) == (OffsetRange(100), None)
    assert RestoreRange().of(7) == OffsetRange()


@pytest.mark.parametrize(
    ("texts", "text"),
    [
        (["3"], "no range"),
        (["3:x-"], "no range"),
        (["3:1-2-3"], "no range"),
        (["3:5-5"], "empty"),
        (["3:-0"], "empty"),
        (["3:1-2", "3:4-5"], "already"),
    ],
)
def test_what_is_no_range_is_named(texts, text):
    with pytest.raises(BadRange, match=text):
        parsed_offsets(texts)


@given(st.lists(TIMES, min_size=1), st.none() | TIMES, st.none() | TIMES)
def test_an_object_is_passed_over_only_if_none_of_its_records_is_of_the_time(times, since, until):
    wanted = RestoreRange(since_ms=since, until_ms=until)
    each = told(0, len(times), first_ms=min(times), last_ms=max(times))
    holds = any((since is None or since <= at) and (until is None or at < until) for at in times)
    assert wanted.may_hold(each) or not holds


def test_objects_without_records_or_times_are_passed_over():
    assert not RestoreRange().may_hold(told(0, 3, left_out=3))
    timeless = told(0, 3, first_ms=-1, last_ms=-1)
    assert RestoreRange().may_hold(timeless)
    assert not RestoreRange(since_ms=0).may_hold(timeless)


# -- Target topic: one that would lose or change records is refused, with what to set.

NOW_MS = 1_000_000
DAY = {"retention.ms": "500000", "message.timestamp.before.max.ms": str(2**63 - 1)}


def topic(**configs: str) -> Topic:
    named = {key.replace("_", "."): value for key, value in configs.items()}
    return Topic("t", UUID(int=1), 3, Configs({**DAY, **named}))


@pytest.mark.parametrize(
    ("configs", "partitions", "oldest_ms", "text"),
    [
        ({}, 4, NOW_MS, "has 3 partitions, the source has 4"),
        ({"message_timestamp_type": "LogAppendTime"}, 3, NOW_MS, "CreateTime"),
        ({}, 3, 499_999, "retention.ms=-1, or above 500001"),
        ({"message_timestamp_before_max_ms": "10"}, 3, NOW_MS - 11, "before.max.ms above 11"),
    ],
)
def test_a_topic_that_cannot_take_the_records_is_refused(configs, partitions, oldest_ms, text):
    with pytest.raises(CannotRestore, match=text):
        check_topic(topic(**configs), partitions, oldest_ms, NOW_MS)


@pytest.mark.parametrize(
    ("configs", "oldest_ms"),
    [
        ({}, 500_000),
        ({"retention_ms": "-1"}, 0),
        ({"cleanup_policy": "compact"}, 0),
        ({}, -1),
    ],
)
def test_a_topic_that_keeps_them_is_taken(configs, oldest_ms):
    check_topic(topic(**configs), 3, oldest_ms, NOW_MS)


def test_a_created_topic_keeps_records_of_any_age():
    made = new_topic("t", 3, 2)
    assert (made.topic, made.partitions, made.replication_factor) == ("t", 3, 2)
    found = Topic("t", UUID(int=1), 3, Configs(dict(made.configs)))
    check_topic(found, 3, 0, NOW_MS)


def test_batches_are_as_large_as_the_topic_takes():
    configs = Configs({"max.message.bytes": "900"})
    assert batch_bytes_max(Topic("t", UUID(int=1), 3, configs)) == 900
    assert batch_bytes_max(topic()) == 1 << 20
