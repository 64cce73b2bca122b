"""Restore job: another range is another job; the same one is found again."""

from __future__ import annotations

from dataclasses import replace

from aggregator.restore.restore_entry import claim
from aggregator.restore.restore_job import RestoreRequest, RestoreState
from aggregator.restore.restore_plan import PartitionPlan
from aggregator.restore.restore_range import OffsetRange, RestoreRange
from replicator.config.cluster_name import ClusterName
from replicator.config.object_feed import ObjectFeed
from tests.replicator.config.any_feed import ANY_OBJECT_FEED

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
