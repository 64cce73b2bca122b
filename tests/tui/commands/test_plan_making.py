"""Requests of `plan` commands, and the messages about mistakes in them."""

import re
from typing import Any

import pytest

from replicator.groups.planning.knowledge import Choice
from tui.commands.plan_making import BadRequest, NothingKnown, PlanInput, request_of

KNOWN = {"orders": "west", "billing": None, "audit": None, "moved": "east"}


def plan_input(**given: Any) -> PlanInput:
    defaults: dict[str, Any] = {
        "source": "west",
        "target": "east",
        "groups": (),
        "all_groups": False,
        "recorded": False,
        "of_plan": None,
        "left_out": (),
        "topics": (),
        "reason": " west is lost ",
        "earliest": (),
        "from_timestamp": (),
        "may_go_back": (),
        "valid_minutes": 5.0,
        "timeout": 15.0,
    }
    return PlanInput(**defaults | given)


def test_the_input_becomes_a_request():
    request = request_of(
        plan_input(
            groups=("orders", "billing"),
            topics=("trades",),
            earliest=("orders",),
            from_timestamp=("billing=2013-01-01T01:00:00+01:00",),
            may_go_back=("billing",),
        ),
        KNOWN,
    )
    assert request.groups == frozenset({"orders", "billing"})
    assert request.topics == frozenset({"trades"})
    assert request.choices == {"orders": Choice(), "billing": Choice(1_356_998_400_000)}
    assert (request.reason, request.is_planned) == ("west is lost", False)


def test_all_groups_are_those_that_are_known_but_the_exceptions():
    everything = request_of(plan_input(all_groups=True, left_out=("audit",)), KNOWN)
    assert everything.groups == frozenset({"orders", "billing"})
    assert everything.topics is None


def test_groups_that_live_elsewhere_are_none_of_all_and_may_be_named():
    recorded = request_of(plan_input(all_groups=True, recorded=True), KNOWN)
    assert recorded.groups == frozenset({"orders"})
    assert request_of(plan_input(groups=("moved",)), KNOWN).groups == frozenset({"moved"})


def test_the_groups_of_a_plan_are_those_that_it_moved_and_no_others():
    back = request_of(plan_input(of_plan="p1"), KNOWN, {"orders", "billing"})
    assert back.groups == frozenset({"orders", "billing"})
    but = request_of(plan_input(of_plan="p1", left_out=("billing",)), KNOWN, {"orders", "billing"})
    assert but.groups == frozenset({"orders"})


def test_a_switchover_is_a_planned_request():
    assert request_of(plan_input(all_groups=True, wait_seconds=0.0), KNOWN).is_planned


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({}, "--all-groups or --of-plan: one"),
        ({"groups": ("orders",), "all_groups": True}, "--all-groups or --of-plan: one"),
        ({"all_groups": True, "of_plan": "p1"}, "--all-groups or --of-plan: one"),
        ({"of_plan": "p1"}, "no group that lives in west by plan 'p1'"),
        ({"groups": ("orders",), "left_out": ("audit",)}, "--except goes with"),
        ({"groups": ("order",)}, "order; did you mean orders?"),
        ({"all_groups": True, "left_out": ("x",)}, "x"),
        ({"groups": ("orders",), "recorded": True}, "--recorded goes with --all-groups"),
        ({"all_groups": True, "left_out": tuple(KNOWN)}, "no group is left"),
        ({"groups": ("orders",), "earliest": ("audit",)}, "not asked for: audit"),
        ({"groups": ("orders",), "may_go_back": ("audit",)}, "--may-go-back names"),
        ({"groups": ("orders",), "from_timestamp": ("orders",)}, "GROUP=DATE-TIME"),
        ({"groups": ("orders",), "from_timestamp": ("orders=2013-01-01T00:00:00",)}, "zone"),
        ({"groups": ("orders",), "from_timestamp": ("orders=1913-01-01T00:00:00Z",)}, "zone"),
        ({"groups": ("orders",), "from_timestamp": ("=2013-01-01T00:00:00Z",)}, "zone"),
        (
            {
                "groups": ("orders",),
                "earliest": ("orders",),
                "from_timestamp": ("orders=2013-01-01T00:00:00Z",),
            },
            "chosen twice",
        ),
    ],
)
def test_a_mistake_is_named(given, words):
    with pytest.raises(BadRequest, match=re.escape(words)):
        request_of(plan_input(**given), KNOWN)


def test_without_copies_the_request_is_refused():
    with pytest.raises(NothingKnown, match="no copies"):
        request_of(plan_input(all_groups=True), {})
