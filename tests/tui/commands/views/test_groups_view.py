"""Output of the primary regions and members of groups."""

from __future__ import annotations

from dataclasses import replace

import pytest

from replicator.groups.membership.primary_region import PrimaryRegion, decided
from tui.commands.views.groups_view import as_text, as_values, changes_text, changes_values
from tui.facts.group_locations import GroupLocations, PrimaryChange, PrimaryChanges

WEST = decided(None, "orders", "west", at_ms=0, who="ann@ops", why="near the bank")
FREE = decided(WEST, "orders", None, at_ms=60_000, who="bob@ops", why="both")


def locations(
    records: dict[str, PrimaryRegion] | None = None,
    silent: tuple[str, ...] = (),
    problems: tuple[str, ...] = (),
    **active: str,
) -> GroupLocations:
    return GroupLocations(
        region="west",
        records={"orders": WEST} if records is None else records,
        active={region: frozenset(groups.split()) for region, groups in active.items()},
        silent=silent,
        groups=("bills", "orders"),
        problems=problems,
    )


def test_a_group_is_shown_with_its_region_operator_and_reason(assert_snapshot):
    assert_snapshot(as_text(locations(west="orders", east="bills")), "groups")


@pytest.mark.parametrize(
    ("active", "name"),
    [
        ({"west": "", "east": "orders"}, "groups_out_of_place"),
        ({"west": "orders", "east": "orders"}, "groups_active_twice"),
        ({"west": "", "east": ""}, "groups_without_members"),
    ],
)
def test_a_group_that_is_not_in_its_place_stands_out(assert_snapshot, active, name):
    assert_snapshot(as_text(locations(**active)), name)


def test_a_group_that_lives_in_no_region_any_more_is_never_out_of_place(assert_snapshot):
    free = locations({"orders": FREE}, west="orders", east="orders")
    assert_snapshot(as_text(free), "groups_any_region")
    (_, orders) = as_values(free)["groups"]
    assert (orders["mode"], orders["primary_region"]) == ("active/active", None)
    assert (orders["previous_region"], orders["is_active_twice"]) == ("west", False)


def test_what_is_not_known_is_never_shown_as_nothing(assert_snapshot):
    unknown = GroupLocations("west", None, {}, ("east", "west"), ("orders",), ("Redis: away",))
    assert_snapshot(as_text(unknown), "groups_unknown")
    (orders,) = as_values(unknown)["groups"]
    assert orders["mode"] is None


def test_values_have_everything():
    values = as_values(locations(west="orders", east="orders", silent=("south",), problems=("x",)))
    assert (values["schema_version"], values["region"]) == (1, "west")
    assert (values["silent_regions"], values["problems"]) == (["south"], ["x"])
    bills, orders = values["groups"]
    assert orders == {
        "group": "orders",
        "primary_region": "west",
        "generation": 1,
        "decided_at": "1970-01-01T00:00:00+00:00",
        "who": "ann@ops",
        "why": "near the bank",
        "plan_id": None,
        "previous_region": None,
        "mode": "active/passive",
        "active_in": ["east", "west"],
        "out_of_place_in": ["east"],
        "is_active_twice": True,
    }
    assert (bills["mode"], bills["active_in"]) == ("active/active", [])


def test_a_group_that_was_asked_for_is_shown_though_nothing_is_known_of_it(assert_snapshot):
    assert_snapshot(as_text(locations().only(["mails"])), "groups_asked_for")
    assert as_text(GroupLocations("west", {}, {}, (), ())) == "no groups"


def test_changes_are_shown_with_the_remark_that_no_offsets_were_moved(assert_snapshot):
    east = decided(WEST, "orders", "east", at_ms=1, who="ann@ops", why="moved")
    changes = PrimaryChanges(
        (PrimaryChange("bills", None, is_new=False), PrimaryChange("orders", east, is_new=True)),
        ("recorded, but Redis: away",),
    )
    assert_snapshot(changes_text(changes), "primary_changes")
    values = changes_values(changes)
    assert values["offsets_moved"] is False
    assert [(it["group"], it["is_new"]) for it in values["groups"]] == [
        ("bills", False),
        ("orders", True),
    ]


def test_a_time_that_no_calendar_has_is_unknown():
    absurd = locations({"orders": replace(WEST, at_ms=10**18)}, west="orders")
    assert "?" in as_text(absurd)
    assert as_values(absurd)["groups"][1]["decided_at"] is None
