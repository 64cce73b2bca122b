import pytest

from balancer.decision.placing import Scope
from balancer.decision.triggers import ANSWERS, BY_HAND, Trigger, widest


def test_each_trigger_has_an_answer_in_the_order_of_their_table():
    assert [*ANSWERS] == [*Trigger]


@pytest.mark.parametrize("trigger", Trigger)
def test_everything_is_placed_anew_for_four_of_them_alone(trigger):
    full = {Trigger.FIRST, Trigger.LAG_STAYS, Trigger.OFF_PEAK, Trigger.BY_HAND_FULL}
    assert (ANSWERS[trigger] is Scope.FULL) == (trigger in full)


def test_what_is_asked_for_by_hand_has_the_scope_that_was_asked_for():
    assert {scope: ANSWERS[trigger] for scope, trigger in BY_HAND.items()} == {
        scope: scope for scope in Scope
    }


def test_of_several_the_widest_counts():
    assert widest([Trigger.DRIFT, Trigger.OFF_PEAK]) is Scope.FULL
    assert widest([Trigger.DRIFT, Trigger.LAG]) is widest([]) is Scope.STICKY
