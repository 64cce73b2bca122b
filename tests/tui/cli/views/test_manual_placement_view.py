"""Output for the result of a manual order."""

import pytest

from balancer.decision.placing import Scope
from replicator.orders.order_records import Answer, ByHand
from tests.tui.balance_records import NOW_MS, SAID, lease, placed
from tui.cli.exit_codes import ExitCode
from tui.cli.views.manual_placement_view import Applied, as_text, as_values

ORDER = ByHand(**SAID, id="one", scope=Scope.STICKY, generation=3)
DONE = Answer(**SAID, id="one", stream="default", generation=4, moves=1)
STALE = DONE.model_copy(update={"refused": "by now there is 5", "moves": 0, "generation": 5})
MOVED = placed(4).model_copy(
    update={"topics": {0: (("orders", (0, 1)),), 1: (("orders", (2,)),)}},
)


def applied(answer=None, after=None, said=None, **more) -> Applied:
    return Applied(ORDER, answer, placed(3), after, said, NOW_MS, **more)


def test_what_was_done_is_told_with_the_partitions_that_have_another_carrier():
    done = applied(DONE, MOVED)
    assert done.exit_code is ExitCode.DONE
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
    assert as_text(done, "").splitlines()[-1] == "orders          1     1   0"


def test_that_nothing_had_to_move_is_told():
    none = DONE.model_copy(update={"moves": 0, "generation": 3})
    assert "nothing had to move, generation 3 holds" in as_text(applied(none, placed(3)), "")


def test_a_stale_order_has_the_exit_code_of_stale_plans_whoever_found_it_out():
    refused, not_given = applied(STALE), applied(is_written=False)
    assert refused.exit_code is not_given.exit_code is ExitCode.PLAN_STALE
    assert "refused: by now there is 5" in as_text(refused, "")
    assert "Plan again: sluice balance plan --route 'west>east' --config f" in as_text(
        not_given, " --config f"
    )
    assert (as_values(not_given)["order"], as_values(not_given)["result"]) == (None, "stale")


@pytest.mark.parametrize(
    ("who", "said"),
    [
        (lease(), "no answer yet, though a balancer acts (bob@ops pid 7)"),
        (lease(40), "no answer: no balancer acts. The order stays"),
        (None, "no answer: no balancer acts. The order stays"),
    ],
)
def test_without_an_answer_the_result_is_unknown_and_whether_a_balancer_acts_is_said(who, said):
    found = applied(said=who)
    assert found.exit_code is ExitCode.RESULT_UNKNOWN
    assert said in as_text(found, "") and "sluice balance show" in as_text(found, "")
    assert as_values(found)["result"] == "unknown"


def test_an_order_that_another_one_has_replaced_is_not_waited_for_in_vain():
    other = ORDER.model_copy(update={"id": "two", "who": "eve@ops"})
    assert "a later order of eve@ops has taken its place" in as_text(applied(other=other), "")
