"""Claims about the next plan: whether the running epoch continues under it."""

from dataclasses import replace

from balancer.carrier_plan import CarrierId, Plan
from balancer.topic_partition import TopicPartition
from replicator.mirror.driver.posted_plan import PostedPlan
from replicator.spark.driver_command import Term
from replicator.spark.posting import Posting
from replicator.spark.reassignment_delta import ReassignmentDelta

TERM = Term(4000, 1)
FIRST, SECOND, THIRD = (TopicPartition("orders", number) for number in range(3))


def carrier(number):
    return CarrierId("west.east", number)


def posting(version, *loads, slots=2, **limits):
    plan = Plan(version, {carrier(at): load for at, load in enumerate(loads)})
    return Posting(plan, slots, TERM, limits)


BEGUN = PostedPlan.of_new_epoch(posting(7, (FIRST,), (SECOND,), orders=5))


def test_a_plan_that_begins_an_epoch_has_an_empty_delta():
    assert BEGUN.begins_epoch
    assert BEGUN.delta == ReassignmentDelta(7)
    assert BEGUN.running == {carrier(0), carrier(1)}


def test_an_unchanged_plan_is_not_posted_again():
    assert BEGUN.next(BEGUN.posting) is BEGUN


def test_an_unchanged_plan_begins_an_epoch_when_the_largest_batch_changes():
    new = BEGUN.next(posting(7, (FIRST,), (SECOND,), orders=6))
    assert new.begins_epoch
    assert new.posting.plan.version > 7
    assert new.posting.plan.loads == BEGUN.posting.plan.loads


def test_an_unchanged_plan_is_posted_anew_to_end_the_epoch():
    new = BEGUN.anew(BEGUN.posting)
    assert new.begins_epoch
    assert new.posting.plan.version > 7
    assert new.posting.plan.loads == BEGUN.posting.plan.loads


def test_a_changed_plan_ends_the_epoch_under_its_own_version():
    changed = posting(8, (FIRST, SECOND), (), orders=5)
    assert BEGUN.anew(changed) == PostedPlan.of_new_epoch(changed)


def test_running_carriers_exchange_partitions_within_the_epoch():
    new = BEGUN.next(posting(8, (FIRST, SECOND), (), orders=5))
    assert not new.begins_epoch
    assert new.delta == ReassignmentDelta(7, {("west.east", SECOND): 0}, {"orders": 5})
    assert new.running == {carrier(0)}


def test_a_carrier_that_had_no_partitions_meanwhile_receives_some_only_in_a_new_epoch():
    meanwhile = BEGUN.next(posting(8, (FIRST, SECOND), (), orders=5))
    new = meanwhile.next(posting(9, (FIRST,), (SECOND,), orders=5))
    assert new == PostedPlan.of_new_epoch(posting(9, (FIRST,), (SECOND,), orders=5))


def test_another_number_of_tasks_needs_a_new_epoch():
    assert BEGUN.next(posting(8, (FIRST, SECOND), (THIRD,), slots=1, orders=5)).begins_epoch


def test_the_stop_order_keeps_the_plan_and_its_version():
    stopped = BEGUN.next(posting(8, (FIRST, SECOND), (), orders=5)).stopped()
    assert stopped.posting == replace(posting(8, (FIRST, SECOND), (), orders=5), stop=True)
    assert stopped.begins_epoch
