"""The list of saved plans, for people."""

from dataclasses import replace

from replicator.groups.planning.plan import BrokenPlan, Check, GroupPlan, Level
from tests.replicator.groups.planning.empty_plan import EMPTY
from tui.commands.views.plan_list_view import as_text

PLAN = replace(
    EMPTY,
    created_at_ms=1_356_998_400_000,
    expires_at_ms=1_356_998_700_000,
    groups=(GroupPlan("orders", "west", ()),),
)
BLOCKED = replace(PLAN, id="p3", checks=(Check("basis", Level.BLOCK, "nothing is known"),))


def test_each_plan_has_a_row_with_its_state(assert_snapshot):
    plans = [("p1", PLAN), ("p2", BrokenPlan("p2.json: not the text of a plan")), ("p3", BLOCKED)]
    assert_snapshot(as_text(plans, PLAN.created_at_ms + 2_000), "plan_list")


def test_without_a_plan_there_is_no_table():
    assert as_text([], 0) == "no plan is saved"
