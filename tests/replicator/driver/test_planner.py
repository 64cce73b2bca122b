"""Claims about the even planner: carriers as configured, else as many as there are slots."""

from balancer.plan import Plan, TopicPartition
from replicator.driver.planner import EvenPlanner

WANTED = {
    route: [TopicPartition("orders", number) for number in range(6)]
    for route in ("west.east", "east.east")
}


def test_task_slots_are_shared_out_when_no_number_of_carriers_is_set():
    plan = EvenPlanner(0).plan(WANTED, 4, Plan())
    assert [len(plan.carriers(route)) for route in WANTED] == [2, 2]


def test_a_set_number_of_carriers_is_kept_whatever_the_slots():
    plan = EvenPlanner(3).plan(WANTED, 1, Plan())
    assert [len(plan.carriers(route)) for route in WANTED] == [3, 3]


def test_nothing_changes_while_wishes_and_slots_stay():
    plan = EvenPlanner(0).plan(WANTED, 4, Plan())
    assert EvenPlanner(0).plan(WANTED, 4, plan) is plan
