"""Output for the result of a manual order."""

import pytest

from balancer.decision.placement import Scope
from replicator.orders.order_records import Answer, ByHand
from tests.tui.balance_records import FIELDS, NOW_MS, lease, placed
from tui.commands.views.manual_placement_view import as_text, as_values
from tui.facts.manual_placement_result import ManualPlacement, Result

ORDER = ByHand(**FIELDS, id="one", scope=Scope.STICKY, generation=3)
DONE = Answer(**FIELDS, id="one", stream="default", generation=4, moves=1)
STALE = DONE.model_copy(update={"refused": "by now there is 5", "moves": 0, "generation": 5})
MOVED = placed(4).model_copy(
    update={"topics": {0: (("orders", (0, 1)),), 1: (("orders", (2,)),)}},
)


def placement(answer=None, after=None, lease=None, **more) -> ManualPlacement:
    return ManualPlacement(ORDER, answer, placed(3), after, lease, NOW_MS, **more)


def test_a_finished_placement_lists_the_partitions_that_have_another_carrier(assert_snapshot):
    done = placement(DONE, MOVED)
    assert done.result is Result.DONE
    assert as_values(done) == {
        "schema_version": 1,
        "route": "west>east",
        "stream": "default",
        "scope": "sticky",
        "order": "one",
        "result": "done",
        "reason": None,
        "generation_asked": 3,
        "generation": 4,
        "moves_count": 1,
        "moves": [{"topic": "orders", "partition": 1, "source": 1, "target": 0}],
    }
    assert_snapshot(as_text(done, ""), "manual_placement")


def test_a_placement_without_moves_says_so():
    none = DONE.model_copy(update={"moves": 0, "generation": 3})
    assert "nothing had to move, generation 3 holds" in as_text(placement(none, placed(3)), "")


def test_an_order_is_stale_whether_the_balancer_or_the_command_found_it_out():
    refused, not_given = placement(STALE), placement(is_written=False)
    assert refused.result is not_given.result is Result.STALE
    assert "refused: by now there is 5" in as_text(refused, "")
    assert "Plan again: sluice balance plan --route 'west>east' --config f" in as_text(
        not_given, " --config f"
    )
    assert (as_values(not_given)["order"], as_values(not_given)["result"]) == (None, "stale")


@pytest.mark.parametrize(
    ("holder", "text"),
    [
        (lease(), "no answer yet, though a balancer acts (bob@ops pid 7)"),
        (lease(40), "no answer: no balancer acts. The order stays"),
        (None, "no answer: no balancer acts. The order stays"),
    ],
)
def test_without_an_answer_the_result_is_unknown_and_says_whether_a_balancer_acts(holder, text):
    found = placement(lease=holder)
    assert found.result is Result.UNKNOWN
    assert text in as_text(found, "") and "sluice balance show" in as_text(found, "")
    assert as_values(found)["result"] == "unknown"


def test_an_order_that_was_replaced_names_the_operator_of_the_later_one():
    other = ORDER.model_copy(update={"id": "two", "who": "eve@ops"})
    assert "a later order of eve@ops has taken its place" in as_text(
        placement(replaced_by=other), ""
    )
