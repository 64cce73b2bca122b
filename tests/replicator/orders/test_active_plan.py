"""A driver's active plan is read back as it was written; other formats are refused."""

import pytest

from balancer.carrier_plan import CarrierId, Plan
from balancer.topic_partition import TopicPartition
from replicator.orders.active_plan import ActivePlan

SHOWN = ActivePlan(
    Plan(3, {CarrierId("west.east", 1): (TopicPartition("t", 0),)}),
    slots=2,
    posted_at=1.5,
    generations=(("west.east", "default", 7),),
    paused=(("west.east", (("t", 1),)),),
)


def test_what_is_shown_is_read_as_it_was():
    assert ActivePlan.from_json(SHOWN.to_json()) == SHOWN


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"plan": 1}'])
def test_what_is_no_plan_of_ours_is_refused(text):
    with pytest.raises(ValueError):
        ActivePlan.from_json(text)


def test_a_stream_of_which_no_placement_is_carried_has_generation_0():
    assert (SHOWN.generation("west.east", "default"), SHOWN.generation("west.east", "own")) == (
        7,
        0,
    )
