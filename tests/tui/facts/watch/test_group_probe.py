"""Probe of groups in one region: servers are asked only for what its Redis has not told.

Answers of real servers are tested live (tests/live/test_group_probe.py).
"""

from __future__ import annotations

from dataclasses import replace

from replicator.groups.membership.primary_region import decided
from tests.tui.facts.watch.told import appliance
from tui.facts.group_view import GroupList
from tui.facts.watch.group_probe import probed_groups
from tui.facts.watch.group_questions import StoredGroups, stored_key
from tui.facts.watch.question import Question

BOTH = appliance("east", "west")
RECORD = decided(None, "billing", "west", at_ms=1, who="ann@ops", why="the bank")
TOLD = StoredGroups(
    records={"billing": RECORD},
    active={"east": frozenset({"billing"}), "west": frozenset({"orders"})},
    copied_up_to_ms={},
    decided=frozenset({"east"}),
    types={"shared": "share"},
)


def probed(told: StoredGroups, *names: str) -> GroupList:
    """Returns the groups of west when no cluster accepts connections."""
    redis = Question(key=stored_key("west"), cadence_seconds=1.0, ask=lambda: told)
    return probed_groups(BOTH, "west", 5.0, names, redis)


def test_another_region_whose_members_and_decisions_redis_has_is_not_asked():
    found = probed(TOLD)
    assert [it.split(":")[0] for it in found.problems] == ["west aggregate"]
    billing, shared = found.groups
    assert (billing.group, billing.members, billing.is_out_of_place) == ("billing", ("east",), True)
    assert (shared.group, shared.type) == ("shared", "share")


def test_another_region_is_asked_for_what_redis_lacks():
    asked = [f"{region} aggregate" for region in ("east", "west")]
    for lacking in (replace(TOLD, active={}), replace(TOLD, decided=frozenset())):
        assert [it.split(":")[0] for it in probed(lacking).problems] == asked


def test_of_its_own_region_members_in_redis_count_for_nothing():
    found = probed(TOLD, "orders")
    assert found.silent_regions == ("west",)
    assert found.groups[0].members == ()
