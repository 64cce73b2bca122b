import pytest

from balancer.decision.placement import Scope
from balancer.decision.triggers import ANSWERS, BY_HAND, Trigger, widest


def test_each_trigger_has_a_scope_in_the_order_of_the_table():
    assert [*ANSWERS] == [*Trigger]


@pytest.mark.parametrize("trigger", Trigger)
def test_four_triggers_call_for_a_full_plan(trigger):
    full = {Trigger.FIRST, Trigger.LAG_STAYS, Trigger.OFF_PEAK, Trigger.BY_HAND_FULL}
    assert (ANSWERS[trigger] is Scope.FULL) == (trigger in full)


def test_a_manual_trigger_has_the_scope_that_was_ordered():
    assert {scope: ANSWERS[trigger] for scope, trigger in BY_HAND.items()} == {
        scope: scope for scope in Scope
    }


def test_the_widest_scope_of_several_triggers_counts():
    assert widest([Trigger.DRIFT, Trigger.OFF_PEAK]) is Scope.FULL
    assert widest([Trigger.DRIFT, Trigger.LAG]) is widest([]) is Scope.STICKY
